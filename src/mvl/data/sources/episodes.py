"""Episodes as read from files of other formats, and their checks; errors name the file, the episode and the column."""

import math
from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from mvl.data.sources.reading import listed, matching
from mvl.errors import DataError

ROLES = ("observations", "actions", "goals")
ENDS = "terminals"
"""Column that is true at the last row of every episode, unless another is named."""


class Clock(NamedTuple):
    """The clock that streams of different rates are joined to."""

    hz: float
    """Rows per second."""
    join: str = "held"
    """What a row gets from each stream: `held`, the last value before it, or the `nearest` one."""


class ColumnNames(NamedTuple):
    """Names of the columns of a source, by role. A name may have wildcards (`joint_*`); several columns are concatenated."""

    observations: tuple[str, ...] = ()
    """Empty: those that the format has, or that are found by looking."""
    actions: tuple[str, ...] = ()
    """Empty: those that the format has, or that are found by looking."""
    goals: tuple[str, ...] = ()
    """Columns that describe a row as a goal; empty: the whole observation."""
    time: str = ""
    """Column of time stamps, which must increase; empty: not checked."""
    ends: str = ""
    """For files with several episodes: true at the last row of each. Empty: `terminals`, if there is such a column."""
    episode: str = ""
    """Used instead of `ends` if set: a value that is different in successive episodes."""
    clock: Clock | None = None
    """For streams of different rates only."""

    def needed(self, where: str, available: Iterable[str]) -> list[str]:
        """Those of the available columns that have a role, in their order; raises if one is missing."""
        columns = list(available)
        if not self.observations or not self.actions:
            raise DataError(f"{where}: name its columns with --observations and --actions; it has {listed(columns)}.")
        if self.ends == ENDS and ENDS not in columns:
            raise DataError(
                f"{where}: does not say where episodes end; name the column that does with --ends or --episode, or give a folder "
                f"with a file for each. It has {listed(columns)}."
            )
        patterns = [*self.observations, *self.actions, *self.goals, *filter(None, (self.time, self.ends, self.episode))]
        found = {name for pattern in patterns for name in matching(where, columns, pattern)}
        return [name for name in columns if name in found]

    def splits(self, available: Iterable[str]) -> "ColumnNames | None":
        """The names with the column that splits a file into episodes; None if there is no such column and none is named."""
        if self.episode or self.ends:
            return self
        return self._replace(ends=ENDS) if ENDS in available else None


class RawEpisode(NamedTuple):
    """One episode of a source, as read."""

    name: str
    """File, and place in it, for messages."""
    columns: dict[str, np.ndarray]
    """Arrays by column name, with rows along the first axis."""
    held_out: bool | None = None
    """Whether the source says that it is for validation; None: the source does not say."""


class Checked(NamedTuple):
    """One episode with its columns put together, checked, as float32, or float64 where float32 might round."""

    observations: np.ndarray  # (rows, d)
    actions: np.ndarray  # (rows, a)
    goals: np.ndarray | None  # (rows, g)
    held_out: bool | None = None
    """Whether the source says that it is for validation; None: the source does not say."""
    time: np.ndarray | None = None  # (rows,) float64
    """Time stamps, if a column has them."""


def checked(episodes: Iterable[RawEpisode], names: ColumnNames) -> Iterator[Checked]:
    """The episodes with their columns put together; raises if they differ in their dimensions."""
    first: tuple[str, Checked] | None = None
    for episode in episodes:
        found = _at(episodes, episode, names)
        if first is None:
            first = episode.name, found
        for kind in ROLES:
            array, expected = getattr(found, kind), getattr(first[1], kind)
            if array is not None and array.shape[1] != expected.shape[1]:
                sizes = f"{array.shape[1]} dimensions, but {expected.shape[1]} in {first[0]}"
                raise DataError(f"{episode.name}: {kind} has {sizes}; they must agree.")
        yield found


def _at(episodes: Iterable[RawEpisode], episode: RawEpisode, names: ColumnNames) -> Checked:
    """An episode checked; its reader is told of an error, and may have a reason for it: the file was changed."""
    try:
        return _checked_one(episode, names)
    except DataError as error:
        if isinstance(episodes, Generator):
            episodes.throw(error)
        raise


def _checked_one(episode: RawEpisode, names: ColumnNames) -> Checked:
    time = clock_of(episode, names.time) if names.time else None
    observations = _joined(episode, names.observations)
    actions = _joined(episode, names.actions)
    goals = _joined(episode, names.goals) if names.goals else None
    rows = len(observations)
    if rows < 2:
        raise DataError(f"{episode.name}: has {rows} row{'s' * (rows != 1)}; an episode needs at least two.")
    if len(actions) == rows - 1:  # the last observation has no action; repeating one keeps the range of the actions
        actions = np.concatenate([actions, actions[-1:]])
    for kind, array in (("actions", actions), ("goals", goals)):
        if array is not None and len(array) != rows:
            raise DataError(f"{episode.name}: {kind} has {len(array)} rows and observations {rows}; they must be equally long.")
    if time is not None and len(time) != rows:
        raise DataError(f"{episode.name}: {names.time} has {len(time)} rows and observations {rows}; they must be equally long.")
    return Checked(observations, actions, goals, episode.held_out, time)


def split_episodes(whole: RawEpisode, names: ColumnNames) -> Iterator[RawEpisode]:
    """Split a file with several episodes where the episode's label changes, or after rows that are marked as ends."""
    if names.episode:
        labels = _rows(whole, names.episode)
        ends = np.flatnonzero(np.append((labels[1:] != labels[:-1]).any(axis=1), True))
    else:
        marks = _numbers(whole, names.ends or ENDS)[:, 0]
        ends = np.flatnonzero(marks)
        if not len(ends) or ends[-1] != len(marks) - 1:
            raise DataError(
                f"{whole.name}: {names.ends or ENDS} does not mark the last row; the file may be cut short, "
                "or another column ends its episodes (such as timeouts): name it with --ends."
            )
    start = 0
    for index, end in enumerate(ends):
        rows = slice(start, int(end) + 1)
        yield RawEpisode(f"{whole.name}, episode {index}", {name: column[rows] for name, column in whole.columns.items()})
        start = int(end) + 1


def _joined(episode: RawEpisode, names: tuple[str, ...]) -> np.ndarray:
    """The named columns concatenated, (rows, dimensions)."""
    parts = [_numbers(episode, name) for pattern in names for name in matching(episode.name, episode.columns, pattern)]
    lengths = {len(part) for part in parts}
    if len(lengths) > 1:
        raise DataError(f"{episode.name}: {' and '.join(names)} differ in length ({', '.join(map(str, sorted(lengths)))} rows).")
    return np.concatenate(parts, axis=1)


def _numbers(episode: RawEpisode, name: str) -> np.ndarray:
    """A column as (rows, dimensions) in float32, or float64 if it has more digits; raises if float32 cannot hold a number."""
    array = _rows(episode, name)
    if array.dtype.kind not in "fiub":
        raise DataError(f"{episode.name}: {name} has type {array.dtype}; numbers are needed.")
    with np.errstate(over="ignore"):
        numbers = array.astype(np.float32)
    if np.isfinite(numbers).all():
        return numbers if np.result_type(array.dtype, np.float32) == np.float32 else array.astype(np.float64)
    row, column = np.argwhere(~np.isfinite(numbers))[0]
    value = array[row, column]
    reason = "more than float32 holds; use another unit" if np.isfinite(value) else "no number; leave that episode out"
    raise DataError(f"{episode.name}: {name} is {value} at row {row}, dimension {column}, which is {reason}.")


def _rows(episode: RawEpisode, name: str) -> np.ndarray:
    """A column of numbers or text as (rows, dimensions)."""
    found = matching(episode.name, episode.columns, name)
    if len(found) > 1:
        raise DataError(f"{episode.name}: {name} matches {len(found)} columns ({listed(found)}); name one.")
    array = np.asarray(episode.columns[found[0]])
    if array.dtype.kind not in "fiubUS":
        raise DataError(f"{episode.name}: {name} is ragged or not numeric; every row needs the same number of numbers.")
    if array.ndim == 0 or 0 in array.shape[1:]:
        raise DataError(f"{episode.name}: {name} has shape {array.shape}; rows of numbers are needed.")
    return array.reshape(len(array), math.prod(array.shape[1:]))


def clock_of(episode: RawEpisode, name: str) -> np.ndarray:
    """Time stamps as float64, (rows,); raises if they do not increase from row to row."""
    array = _rows(episode, name)
    if array.dtype.kind not in "fiu" or array.shape[1] != 1:
        raise DataError(f"{episode.name}: {name} must have one number for every row to be time stamps.")
    clock: np.ndarray = array[:, 0].astype(np.float64)
    back = np.flatnonzero(~(np.diff(clock) > 0))  # written this way because NaN is not increasing either
    if len(back):
        row = int(back[0]) + 1
        raise DataError(f"{episode.name}: {name} does not run forward at row {row} ({clock[row - 1]:g}, then {clock[row]:g}).")
    return clock
