"""What the dimensions of observations, actions and goals mean: names, units and rate, from the import to the policy."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mvl.errors import UsageError

MOST_LEVELS = 32
"""Most values that a discrete action may take."""


class Signal(NamedTuple):
    """A named group of dimensions, such as the joint positions of an arm.

    Signals that follow each other and have the same name are parts of one column that differ in unit or kind.
    """

    name: str
    labels: tuple[str, ...]
    """A name for each dimension; that of the signal itself if there is only one."""
    unit: str = ""
    """Unit of all its dimensions, such as rad; empty: not known."""
    levels: tuple[float, ...] = ()
    """For a discrete action: the values it takes in the units of the source; the data has their indices. Empty: continuous."""
    period: float = 0.0
    """For angles that are stored as sine and cosine: a full turn in the units of the source. 0: stored as they are."""


class Signals(NamedTuple):
    """The signals of a dataset, in the order of its dimensions, and its rate."""

    observations: tuple[Signal, ...] = ()
    actions: tuple[Signal, ...] = ()
    goals: tuple[Signal, ...] = ()
    """Empty: a goal is an observation."""
    hz: float | None = None
    """Rows per second, if known."""

    def to_json(self) -> dict[str, Any]:
        groups = {kind: [signal._asdict() for signal in getattr(self, kind)] for kind in KINDS}
        return {**groups, "hz": self.hz}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Signals":
        """Raises ValueError, KeyError or TypeError if the data does not describe signals."""
        hz = data["hz"]
        if hz is not None and not (isinstance(hz, int | float) and 0 < hz < math.inf):
            raise ValueError(f"the rate is {hz}")
        observations, actions, goals = (tuple(map(_signal, data[kind])) for kind in KINDS)
        return cls(observations, actions, goals, hz)


KINDS = ("observations", "actions", "goals")


def _signal(data: dict[str, Any]) -> Signal:
    signal = Signal(data["name"], tuple(data["labels"]), data["unit"], tuple(data["levels"]), data.get("period", 0.0))
    if not signal.labels or not all(isinstance(text, str) for text in (signal.name, signal.unit, *signal.labels)):
        raise ValueError("names, labels and units must be text")
    levels = signal.levels
    if levels and (len(signal.labels) > 1 or not 2 <= len(levels) <= MOST_LEVELS or sorted(set(levels)) != list(levels)):
        raise ValueError(f"{signal.name} needs 2 to {MOST_LEVELS} levels in order, and one dimension")
    if not all(map(math.isfinite, (*levels, signal.period))):
        raise ValueError(f"{signal.name} has numbers that are not finite")
    return signal


def dimension_names(signals: tuple[Signal, ...]) -> list[str]:
    """A name with unit for each dimension: `joint_3 (rad)`."""
    units = [(label, "" if signal.period else signal.unit) for signal in signals for label in signal.labels]
    return [f"{label} ({unit})" if unit else label for label, unit in units]


class Dimension(NamedTuple):
    """One dimension as the source has it; an angle is one dimension here, even if it is stored as sine and cosine."""

    column: str
    label: str
    unit: str = ""
    levels: tuple[float, ...] = ()
    period: float = 0.0


def dimensions(signals: Iterable[Signal]) -> list[Dimension]:
    """The dimensions of some signals."""
    return [
        Dimension(signal.name, label.removeprefix("sin ") if signal.period else label, signal.unit, signal.levels, signal.period)
        for signal in signals
        for label in signal.labels[:: 2 if signal.period else 1]
    ]


def grouped(found: Iterable[Dimension]) -> tuple[Signal, ...]:
    """The signals of some dimensions: neighbors of one column and one kind together, discrete ones alone."""
    numbered = enumerate(found)
    alike = lambda pair: (pair[0] if pair[1].levels else None, pair[1]._replace(label=""))
    signals = []
    for (_, kind), members in groupby(numbered, key=alike):
        labels = [member.label for _, member in members]
        stored = [f"{function} {label}" for label in labels for function in ("sin", "cos")] if kind.period else labels
        signals.append(Signal(kind.column, tuple(stored), kind.unit, kind.levels, kind.period))
    return tuple(signals)


def by_kind(signals: Signals) -> dict[str, list[Dimension]]:
    """The dimensions of observations, actions and goals."""
    return {kind: dimensions(getattr(signals, kind)) for kind in KINDS}


def from_kinds(groups: Mapping[str, Iterable[Dimension]], hz: float | None) -> Signals:
    """Signals of the dimensions of observations, actions and goals."""
    observations, actions, goals = (grouped(groups[kind]) for kind in KINDS)
    return Signals(observations, actions, goals, hz)


def vector_of(signals: tuple[Signal, ...], parts: Mapping[str, ArrayLike], what: str) -> np.ndarray:
    """Named parts as one vector as it is stored, (..., e) float64; as `source_vector`."""
    return stored(source_vector(signals, parts, what), dimensions(signals))


def source_vector(signals: tuple[Signal, ...], parts: Mapping[str, ArrayLike], what: str) -> np.ndarray:
    """Named parts as one vector in the order of the dimensions, (..., d) float64; `what` is for messages.

    A name is that of a column or of one of its dimensions; together the parts must be everything, once. An angle is one
    dimension, even if it is stored as sine and cosine.
    """
    source = dimensions(signals)
    columns = {name: [i for i, one in enumerate(source) if one.column == name] for name in {one.column for one in source}}
    columns |= {one.label: [i] for i, one in enumerate(source) if one.label not in columns}
    found: dict[int, np.ndarray] = {}
    for name, given in parts.items():
        if name not in columns:
            raise UsageError(f"{what} has no part named {name!r}; it is made of {_listed(source)}.")
        array = _part(given, len(columns[name]), f"{what} {name!r}")
        if found.keys() & set(columns[name]):
            raise UsageError(f"{what} {name!r} is given twice, as a column and as one of its dimensions; give it once.")
        found |= {i: array[..., place] for place, i in enumerate(columns[name])}
    missing = [one.label for i, one in enumerate(source) if i not in found]
    if missing:
        raise UsageError(f"{what} lacks {', '.join(missing)}; give {_listed(source)}.")
    try:
        return np.stack(np.broadcast_arrays(*(found[i] for i in range(len(source)))), axis=-1)
    except ValueError:
        raise UsageError(f"the parts of {what} differ in their numbers of rows; make them equal.") from None


def stored(values: np.ndarray, source: Sequence[Dimension]) -> np.ndarray:
    """Values of the source as they are stored, (..., d) -> (..., e): angles that wrap become sine and cosine."""
    if not any(one.period for one in source):
        return values
    columns = []
    for i, one in enumerate(source):
        angle = 2 * np.pi / one.period * values[..., i] if one.period else None
        columns += [values[..., i]] if angle is None else [np.sin(angle), np.cos(angle)]
    return np.stack(columns, axis=-1)


def stored_size(source: Iterable[Dimension]) -> int:
    """How many numbers these dimensions are stored as."""
    return sum(2 if one.period else 1 for one in source)


def unstored(values: np.ndarray, source: Sequence[Dimension]) -> np.ndarray:
    """Values as they are stored as those of the source, (..., e) -> (..., d): the inverse of `stored`, up to whole turns."""
    if not any(one.period for one in source):
        return values
    columns, place = [], 0
    for one in source:
        here = values[..., place]
        columns.append(np.arctan2(here, values[..., place + 1]) * one.period / (2 * np.pi) if one.period else here)
        place += stored_size([one])
    return np.stack(columns, axis=-1)


def _part(given: ArrayLike, size: int, what: str) -> np.ndarray:
    """A part as float64, (..., size); a single number may come without an axis."""
    array = numbers(given, what)
    if array.ndim == 0 and size == 1:
        array = array[None]
    if array.ndim == 0 or array.shape[-1] != size:
        raise UsageError(f"{what} has shape {array.shape}; its last axis must have length {size}.")
    if not np.isfinite(array).all():
        raise UsageError(f"{what} has a value that is not finite; give finite numbers.")
    return array


def numbers(given: ArrayLike, what: str) -> np.ndarray:
    """Whatever was given, as float64; raises if it is not an array of numbers."""
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{what} is not an array of numbers; give numbers.") from None


def _listed(source: list[Dimension]) -> str:
    """The columns with their sizes as text: `joint_positions (7), gripper (1)`."""
    counts: dict[str, int] = {}
    for one in source:
        counts[one.column] = counts.get(one.column, 0) + 1
    return ", ".join(f"{name} ({count})" for name, count in counts.items())
