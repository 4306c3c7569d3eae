"""Episodes as read from files of other formats, and their checks; errors name the file, the episode and the column."""

import fnmatch
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from mvl.errors import DataError, MvlError


class ColumnNames(NamedTuple):
    """Names of the columns of a source, by role. A name may have wildcards (`joint_*`); several columns are concatenated."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    goals: tuple[str, ...] = ()
    """Columns that describe a row as a goal; empty: the whole observation."""
    time: str = ""
    """Column of time stamps, which must increase; empty: not checked."""
    ends: str = "terminals"
    """For files with several episodes: true at the last row of each."""
    episode: str = ""
    """Used instead of `ends` if set: a number that is different in successive episodes."""


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


ROLES = ("observations", "actions", "goals")


def missing_package(what: str, package: str, extra: str = "formats") -> MvlError:
    """Error that tells how to install a package that reading `what` needs."""
    return MvlError(f"reading {what} needs {package}; install it with: pip install 'mollified-value-learning[{extra}]'")


def checked(episodes: Iterable[RawEpisode], names: ColumnNames) -> Iterator[Checked]:
    """The episodes with their columns put together; raises if they differ in their dimensions."""
    first: tuple[str, Checked] | None = None
    for episode in episodes:
        found = _checked_one(episode, names)
        if first is None:
            first = episode.name, found
        for kind, array, expected in ((role, getattr(found, role), getattr(first[1], role)) for role in ROLES):
            if array is not None and expected is not None and array.shape[1] != expected.shape[1]:
                sizes = f"{array.shape[1]} dimensions, but {expected.shape[1]} in {first[0]}"
                raise DataError(f"{episode.name}: {kind} has {sizes}; they must agree.")
        yield found


def _checked_one(episode: RawEpisode, names: ColumnNames) -> Checked:
    time = _clock(episode, names.time) if names.time else None
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
    """Split a file with several episodes where the episode number changes, or after rows that are marked as ends."""
    if names.episode:
        number = _numbers(whole, names.episode)[:, 0]
        ends = np.flatnonzero(np.append(np.diff(number) != 0, True))
    else:
        marks = _numbers(whole, names.ends)[:, 0]
        ends = np.flatnonzero(marks)
        if not len(ends) or ends[-1] != len(marks) - 1:
            raise DataError(f"{whole.name}: {names.ends} does not mark the last row; the file may be cut short.")
    start = 0
    for index, end in enumerate(ends):
        rows = slice(start, int(end) + 1)
        yield RawEpisode(f"{whole.name}, episode {index}", {name: column[rows] for name, column in whole.columns.items()})
        start = int(end) + 1


def _joined(episode: RawEpisode, names: tuple[str, ...]) -> np.ndarray:
    """The named columns concatenated, (rows, dimensions)."""
    parts = [_numbers(episode, name) for pattern in names for name in _matching(episode, pattern)]
    lengths = {len(part) for part in parts}
    if len(lengths) > 1:
        raise DataError(f"{episode.name}: {' and '.join(names)} differ in length ({', '.join(map(str, sorted(lengths)))} rows).")
    return np.concatenate(parts, axis=1)


def _matching(episode: RawEpisode, pattern: str) -> list[str]:
    """Names of the columns that match a name or pattern; at least one must."""
    found = [pattern] if pattern in episode.columns else fnmatch.filter(episode.columns, pattern)
    if not found:
        raise DataError(f"{episode.name}: has no column {pattern}; it has {', '.join(sorted(episode.columns)) or 'none'}.")
    return found


def _numbers(episode: RawEpisode, name: str) -> np.ndarray:
    """A column as (rows, dimensions) in float32, or float64 if it has more digits; raises if a number is not finite."""
    array = _plain(episode, name)
    flat = array.reshape(len(array), -1)
    bad = np.argwhere(~np.isfinite(flat))
    if len(bad):
        row, column = bad[0]
        value = flat[row, column]
        raise DataError(f"{episode.name}: {name} is {value} at row {row}, dimension {column}; leave that episode out.")
    return flat.astype(np.float32 if np.result_type(flat.dtype, np.float32) == np.float32 else np.float64)


def _plain(episode: RawEpisode, name: str) -> np.ndarray:
    """A column as an array of numbers with rows along the first axis."""
    (name,) = _matching(episode, name)
    try:
        array = np.asarray(episode.columns[name])
    except ValueError:
        array = np.empty(1, object)
    if array.dtype.kind == "O":
        raise DataError(f"{episode.name}: {name} is ragged or not numeric; every row needs the same number of numbers.")
    if array.dtype.kind not in "fiub" or array.ndim == 0:
        raise DataError(f"{episode.name}: {name} has type {array.dtype} and shape {array.shape}; rows of numbers are needed.")
    return array


def _clock(episode: RawEpisode, name: str) -> np.ndarray:
    """Time stamps, (rows,); raises if they do not increase from row to row."""
    clock = _plain(episode, name).astype(float).ravel()
    back = np.flatnonzero(~(np.diff(clock) > 0))  # written this way because NaN is not increasing either
    if len(back):
        row = int(back[0]) + 1
        raise DataError(f"{episode.name}: {name} does not run forward at row {row} ({clock[row - 1]:g}, then {clock[row]:g}).")
    return clock
