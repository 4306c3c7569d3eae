"""Names, units and rate of a source's columns, as far as the source says."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from mvl.data.signals import Signal, Signals
from mvl.data.sources.episodes import ROLES, ColumnNames, RawEpisode, stamps
from mvl.data.sources.reading import matching

SECONDS = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
"""Units of time stamps, in seconds."""
EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"))
"""Unit of time stamps without one, by their size: they count from 1970 if they are that large. Otherwise, seconds."""
SLOWEST, FASTEST = 0.01, 1e5
"""Rates outside of this range, in Hz, mean that the unit of the time stamps is not known."""


class Head(NamedTuple):
    """The head of a column, such as `joint_1 [rad]`."""

    name: str
    unit: str = ""


def parse_head(text: str) -> Head:
    """Name and unit of a head such as `joint_1 [rad]` or `joint_1 (rad)`."""
    found = re.fullmatch(r"(.*[^\s])\s*(?:\[([^\[\]()]{1,16})\]|\(([^\[\]()]{1,16})\))", text.strip())
    return Head(found[1], (found[2] or found[3]).strip()) if found else Head(text.strip())


def first_signals(
    episodes: Iterator[RawEpisode],
    names: ColumnNames,
    labels: Mapping[str, tuple[str, ...]] | None = None,
    units: Mapping[str, str] | None = None,
    hz: float | None = None,
) -> Signals:
    """Signals by the columns of the first episode.

    `labels` and `units` are those of columns that have some. Without `hz`, the rate is that of the time stamps, if there are any.
    """
    first = next(episodes, None)
    if first is None:
        return Signals()
    roles = {role: _signals(first, getattr(names, role), labels or {}, units or {}) for role in ROLES}
    if hz is None and names.time:
        hz = rate(seconds(stamps(first, names.time), (units or {}).get(names.time, "")))
    return Signals(**roles, hz=hz)


def _signals(
    episode: RawEpisode, patterns: tuple[str, ...], labels: Mapping[str, tuple[str, ...]], units: Mapping[str, str]
) -> tuple[Signal, ...]:
    """A signal for each column, or for all that match a pattern if these are single numbers of one unit."""
    found = []
    for pattern in patterns:
        columns = matching(episode.name, episode.columns, pattern)
        signals = [Signal(name, _labels(name, episode.columns[name], labels), units.get(name, "")) for name in columns]
        stem = re.split(r"[*?\[]", pattern)[0].rstrip("_./- ")
        alike = {(len(signal.labels), signal.unit) for signal in signals} == {(1, signals[0].unit)}
        if len(signals) > 1 and stem and alike:
            signals = [Signal(stem, tuple(signal.labels[0] for signal in signals), signals[0].unit)]
        found += signals
    return tuple(found)


def _labels(name: str, column: Any, labels: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A name for each dimension of a column: those that the source has, if there are as many, or numbered ones."""
    width = int(np.prod(np.shape(column)[1:]))
    given = labels.get(name, ())
    if len(given) == width:
        return given
    return (name,) if width == 1 else tuple(f"{name}_{i}" for i in range(width))


def seconds(clock: np.ndarray, unit: str = "") -> np.ndarray:
    """Time stamps in seconds; their unit is the given one if it is known, otherwise it follows from their size."""
    largest = np.abs(clock).max(initial=0.0)
    guessed = next((name for size, name in EPOCHS if largest > size), "s")
    return clock * SECONDS.get(unit, SECONDS[guessed])


def rate(clock: np.ndarray) -> float | None:
    """Rows per second by the median time between them, to six digits; None if that is no plausible rate."""
    step = float(np.median(np.diff(clock))) if len(clock) > 1 else 0.0
    hz = 1 / step if step > 0 else 0.0
    return float(f"{hz:.6g}") if SLOWEST <= hz <= FASTEST else None
