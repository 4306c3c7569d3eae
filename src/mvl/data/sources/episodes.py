"""Episodes as other formats hand them over, checked one by one; what is wrong is named by file, episode and field."""

import fnmatch
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from mvl.errors import DataError, MvlError


class Fields(NamedTuple):
    """Which fields of a source mean what. A name may have wildcards (`joint_*`); several fields are put side by side."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    goals: tuple[str, ...] = ()
    """What a row is told by when it is a goal; whole observations if empty."""
    time: str = ""
    """A clock that must run forward, if there is one."""
    ends: str = "terminals"
    """In files that lay episodes end to end: true at the last row of each."""
    episode: str = ""
    """Or instead: a number that changes from one episode to the next."""


class Episode(NamedTuple):
    """One episode of a source, as read."""

    name: str
    """Where it is, for messages: a file, and a place in it."""
    columns: dict[str, np.ndarray]
    """By field name; rows first."""


class Checked(NamedTuple):
    observations: np.ndarray  # (rows, d)
    actions: np.ndarray  # (rows, a)
    goals: np.ndarray | None  # (rows, g)


def missing_package(what: str, package: str, extra: str = "formats") -> MvlError:
    return MvlError(f"reading {what} needs {package}; install it with: pip install 'mollified-value-learning[{extra}]'")


def checked(episodes: Iterable[Episode], fields: Fields) -> Iterator[Checked]:
    """The episodes with their fields put together; all must agree in their dimensions."""
    first: tuple[str, Checked] | None = None
    for episode in episodes:
        found = _one(episode, fields)
        if first is None:
            first = episode.name, found
        for kind, ours, theirs in zip(Checked._fields, found, first[1], strict=True):
            if ours is not None and theirs is not None and ours.shape[1] != theirs.shape[1]:
                sizes = f"{ours.shape[1]} dimensions, but {theirs.shape[1]} in {first[0]}"
                raise DataError(f"{episode.name}: {kind} has {sizes}; they must agree.")
        yield found


def _one(episode: Episode, fields: Fields) -> Checked:
    if fields.time:
        _check_clock(episode, fields.time)
    observations = _joined(episode, fields.observations)
    actions = _joined(episode, fields.actions)
    goals = _joined(episode, fields.goals) if fields.goals else None
    rows = len(observations)
    if rows < 2:
        raise DataError(f"{episode.name}: has {rows} row{'s' * (rows != 1)}; an episode needs at least two.")
    if len(actions) == rows - 1:  # a last observation that nothing was done in; no number that was not there before
        actions = np.concatenate([actions, actions[-1:]])
    for kind, array in (("actions", actions), ("goals", goals)):
        if array is not None and len(array) != rows:
            raise DataError(f"{episode.name}: {kind} has {len(array)} rows and observations {rows}; they must be equally long.")
    return Checked(observations, actions, goals)


def cut(whole: Episode, fields: Fields) -> Iterator[Episode]:
    """Episodes that lie end to end, taken apart where the episode number changes or an end is marked."""
    if fields.episode:
        number = _numbers(whole, fields.episode)[:, 0]
        ends = np.flatnonzero(np.append(np.diff(number) != 0, True))
    else:
        marks = _numbers(whole, fields.ends)[:, 0]
        ends = np.flatnonzero(marks)
        if not len(ends) or ends[-1] != len(marks) - 1:
            raise DataError(f"{whole.name}: {fields.ends} does not mark the last row; the file may be cut short.")
    start = 0
    for index, end in enumerate(ends):
        rows = slice(start, int(end) + 1)
        yield Episode(f"{whole.name}, episode {index}", {name: column[rows] for name, column in whole.columns.items()})
        start = int(end) + 1


def _joined(episode: Episode, names: tuple[str, ...]) -> np.ndarray:
    """The named fields side by side, (rows, dimensions) in float32."""
    parts = [_numbers(episode, name) for pattern in names for name in _matching(episode, pattern)]
    lengths = {len(part) for part in parts}
    if len(lengths) > 1:
        raise DataError(f"{episode.name}: {' and '.join(names)} differ in length ({', '.join(map(str, sorted(lengths)))} rows).")
    return np.concatenate(parts, axis=1)


def _matching(episode: Episode, pattern: str) -> list[str]:
    found = [pattern] if pattern in episode.columns else fnmatch.filter(episode.columns, pattern)
    if not found:
        raise DataError(f"{episode.name}: has no field {pattern}; it has {', '.join(sorted(episode.columns)) or 'none'}.")
    return found


def _numbers(episode: Episode, name: str) -> np.ndarray:
    """A field as (rows, dimensions) of finite float32."""
    array = _plain(episode, name)
    flat = array.reshape(len(array), -1)
    bad = np.argwhere(~np.isfinite(flat))
    if len(bad):
        row, column = bad[0]
        value = flat[row, column]
        raise DataError(f"{episode.name}: {name} is {value} at row {row}, dimension {column}; leave that episode out.")
    return flat.astype(np.float32)


def _plain(episode: Episode, name: str) -> np.ndarray:
    """A field as an array of numbers, rows first."""
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


def _check_clock(episode: Episode, name: str) -> None:
    clock = _plain(episode, name).astype(float).ravel()
    back = np.flatnonzero(~(np.diff(clock) > 0))  # a clock that is not a number does not run forward either
    if len(back):
        row = int(back[0]) + 1
        raise DataError(f"{episode.name}: {name} does not run forward at row {row} ({clock[row - 1]:g}, then {clock[row]:g}).")
