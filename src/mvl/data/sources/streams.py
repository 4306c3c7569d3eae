"""Streams of different rates, as ROS records them: a folder per episode with one CSV file per topic, joined to one clock."""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mvl.checks import POSITIVE
from mvl.data.imports.clock import UNITS
from mvl.data.signals import Signals
from mvl.data.sources.describing import first_signals
from mvl.data.sources.episodes import Clock, ColumnNames, RawEpisode, clock_of, split_episodes
from mvl.data.sources.reading import SILENT, Listener, by_number, files_in, listed, unchanged
from mvl.data.sources.table import ENDINGS, Table, columns, opened
from mvl.errors import DataError, UsageError, unknown

TIMES = ("time", "timestamp", "stamp", "t", "%time")
"""Names of the column of time stamps, unless one is given."""
EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"))
"""Unit of time stamps whose head has none: these if they are that large, since they count from 1970; otherwise seconds."""
GAP = 5
"""A topic that is silent for more than this many of its periods is warned about."""


ROUNDING = 1e-3
"""Time stamps may be late by this share of a row without their value being missed."""
THICKEST = 100
"""Most rows that the clock may make of one row of the fastest topic."""


class Stream(NamedTuple):
    """One topic of one episode."""

    topic: str
    clock: np.ndarray  # (rows,) seconds
    columns: dict[str, np.ndarray]
    """Arrays (rows,) by `topic/column`."""


def held(clock: np.ndarray, times: np.ndarray) -> np.ndarray:
    """For each of the evenly spaced times, the last row of the clock that is not after it, but for rounding."""
    late = ROUNDING * np.diff(times[:2]).sum()
    return _before(clock, times + late)


def nearest(clock: np.ndarray, times: np.ndarray) -> np.ndarray:
    """For each of the times, the nearest row of the clock; the earlier of two that are equally near."""
    before = _before(clock, times)
    after = np.minimum(before + 1, len(clock) - 1)
    closer: np.ndarray = np.where(clock[after] - times < times - clock[before], after, before)
    return closer


def _before(clock: np.ndarray, times: np.ndarray) -> np.ndarray:
    """For each of the times, the last row of the clock that is not after it, or else the first."""
    return np.maximum(np.searchsorted(clock, times, side="right") - 1, 0)


JOINS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {"held": held, "nearest": nearest}


def defaults(path: Path) -> ColumnNames:
    """None: topics have no standard names."""
    return ColumnNames()


def episodes(path: Path, names: ColumnNames, listener: Listener = SILENT) -> Iterator[RawEpisode]:
    """Episodes in the order of the folders; the pace of every topic is noted at the end."""
    if names.clock is None:
        raise UsageError(f"{path}: streams need a rate; give one with --hz, for example --hz 20.")
    POSITIVE.check(hz=names.clock.hz)
    if names.clock.join not in JOINS:
        raise unknown("way to join", names.clock.join, JOINS)
    paces: dict[str, list[Pace]] = {}
    folders = {folder: files_in(folder, *ENDINGS) for folder in _folders(path)}
    with unchanged(*chain(*folders.values())):
        for done, (folder, files) in enumerate(folders.items()):
            listener.progress(done, len(folders))
            streams = _streams(folder, files, names)
            for stream in streams:
                paces.setdefault(stream.topic, []).append(_pace(stream, folder))
            joined = RawEpisode(str(folder), _joined(folder, streams, names, names.clock))
            yield from split_episodes(joined, names) if names.episode or names.ends else [joined]
    for topic, found in paces.items():
        for line in _report(topic, found, names.clock):
            listener.note(line)


def source_signals(path: Path, names: ColumnNames) -> Signals:
    """Names and units by the first line of every topic, and the rate of the clock."""
    units: dict[str, str] = {}
    for file in files_in(_folders(path)[0], *ENDINGS):
        with opened(file) as table:
            units |= {f"{file.stem}/{name}": unit for name, unit in table.units.items()}
    return first_signals(episodes(path, names), names, units=units, hz=names.clock.hz if names.clock else None)


def _folders(path: Path) -> list[Path]:
    """The folder itself if it has topics, otherwise the folders in it that do."""
    if not path.is_dir():
        raise DataError(f"{path}: streams are a folder with one CSV file per topic, or one such folder per episode; name it.")
    inside = [place for place in path.iterdir() if place.is_dir() and not place.name.startswith(".")]
    with_topics = [place for place in [path, *inside] if any(file.suffix.lower() in ENDINGS for file in place.iterdir())]
    if not with_topics or (len(with_topics) > 1 and path in with_topics):
        what = "CSV files beside folders of them" if with_topics else "no CSV files"
        raise DataError(f"{path}: has {what}; give every episode a folder with one CSV file per topic.")
    return sorted(with_topics, key=lambda folder: by_number(folder.name))


def _streams(folder: Path, files: list[Path], names: ColumnNames) -> list[Stream]:
    """The topics of an episode that are needed, with the columns that are needed."""
    if len({file.stem for file in files}) < len(files):
        raise DataError(f"{folder}: has two files with the same name but for the ending; give every topic one.")
    available = []
    for file in files:
        with opened(file) as table:
            available += [f"{file.stem}/{name}" for name in table.names]
    needed = names._replace(time="").needed(str(folder), available)
    return [_stream(file, needed, names) for file in files if any(name.startswith(f"{file.stem}/") for name in needed)]


def _stream(file: Path, needed: list[str], names: ColumnNames) -> Stream:
    topic = f"{file.stem}/"
    with opened(file) as table:
        time = _time(table, names.time)
        chosen = [name.removeprefix(topic) for name in needed if name.startswith(topic)]
        found = columns(table, {time: None, **dict.fromkeys(chosen)}, names.episode.removeprefix(topic))
        unit = table.units.get(time, "")
    clock = clock_of(RawEpisode(str(file), found), time)
    if not len(clock):
        raise DataError(f"{file}: has no rows; leave that episode out.")
    return Stream(file.stem, seconds(clock, unit), {f"{topic}{name}": found[name] for name in chosen})


def seconds(clock: np.ndarray, unit: str) -> np.ndarray:
    """Time stamps in seconds; their unit is the given one if it is known, otherwise it follows from their size."""
    guessed = next((name for size, name in EPOCHS if np.abs(clock).max() > size), "s")
    return clock * UNITS.get(unit, UNITS[guessed])


def _time(table: Table, given: str) -> str:
    """Name of the column of time stamps."""
    known = [name for name in ([given] if given else TIMES) if name in table.names]
    if not known:
        wanted = given or " or ".join(TIMES)
        raise DataError(
            f"{table.path}: has no column {wanted}; name that of the time stamps with --time, of {listed(table.names)}."
        )
    return known[0]


def _joined(folder: Path, streams: list[Stream], names: ColumnNames, clock: Clock) -> dict[str, np.ndarray]:
    """Columns of all topics at the times of the clock, over the time in which all topics were recorded."""
    first, last = max(stream.clock[0] for stream in streams), min(stream.clock[-1] for stream in streams)
    if not first < last:
        raise DataError(f"{folder}: its topics were not recorded at the same time; leave that episode out.")
    count = (last - first) * clock.hz + 1 + ROUNDING
    if not count <= THICKEST * max(len(stream.clock) for stream in streams):
        raise DataError(
            f"{folder}: would have {count:.4g} rows at {clock.hz:g} Hz; check --hz and the time stamps, "
            "whose head may have a unit (time [ms])."
        )
    times = first + np.arange(int(count)) / clock.hz
    found = {names.time: times} if names.time else {}
    for stream in streams:
        rows = JOINS[clock.join](stream.clock, times)
        found |= {name: column[rows] for name, column in stream.columns.items()}
    return found


class Pace(NamedTuple):
    """How often a topic was recorded in an episode."""

    hz: float
    """By the median time between its rows; 0 if there is only one."""
    gap: float
    """Longest time between two of its rows, in seconds."""
    where: Path


def _pace(stream: Stream, folder: Path) -> Pace:
    steps = np.diff(stream.clock)
    middle = float(np.median(steps)) if len(steps) else 0.0
    return Pace(1 / middle if middle > 0 else 0.0, float(steps.max(initial=0.0)), folder)


def _report(topic: str, paces: list[Pace], clock: Clock) -> list[str]:
    """A line on a topic, and a warning if it was silent for long."""
    hz = float(np.median([pace.hz for pace in paces]))
    longest = max(paces, key=lambda pace: pace.gap)
    value = "its last value is held" if clock.join == "held" else "its nearest value is taken"
    lines = [f"{topic}: {hz:.4g} Hz, longest gap {longest.gap:.3g} s; joined at {clock.hz:g} Hz, {value}"]
    if longest.gap * hz > GAP:
        periods = f"{longest.gap:.3g} s ({longest.gap * hz:.0f} of its periods)"
        lines.append(f"! {topic}: silent for {periods} in {longest.where}; check that recording")
    return lines
