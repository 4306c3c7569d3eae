"""Names and units of a source's columns, as far as the source says."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from mvl.data.signals import Signal, Signals
from mvl.data.sources.episodes import ROLES, ColumnNames, RawEpisode
from mvl.data.sources.reading import matching


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
    """Signals by the columns of the first episode; `labels` and `units` are those of columns that have some."""
    first = next(episodes, None)
    if first is None:
        return Signals()
    roles = {role: _signals(first, getattr(names, role), labels or {}, units or {}) for role in ROLES}
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
