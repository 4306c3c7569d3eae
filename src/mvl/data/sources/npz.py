"""OGBench's layout: one `.npz` with observations, actions and terminals, and a `-val.npz` file next to it."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.sources.archive import UNREADABLE
from mvl.data.sources.images import as_levels
from mvl.data.sources.restoring import NOTES, described, noted
from mvl.data.unpacking import headers, in_place, unpack
from mvl.errors import DataError

REQUIRED = ("observations", "actions", "terminals")


def folders(given: Path | None = None) -> list[Path]:
    """Folders that are searched for datasets, in order: only the given one, or OGBench's and then `default_folder`."""
    if given is not None:
        return [given]
    return [Path("~/.ogbench/data").expanduser(), default_folder()]


def default_folder() -> Path:
    """Where generated datasets go: `$MVL_DATA`, or `~/.mvl/data`."""
    return Path(os.environ.get("MVL_DATA", "~/.mvl/data")).expanduser()


class GoalColumns(NamedTuple):
    """How goals are computed from the arrays of a file, if a goal is not a whole observation."""

    columns: tuple[str, ...]
    """Names of the arrays that are needed."""
    compute: Callable[..., np.ndarray]
    """These arrays -> goals, (rows, g)."""


def load(path: Path, goals: GoalColumns | None = None, out_of_core: bool = False) -> Dataset:
    """The checked dataset of one file; pickled arrays are never read. Goals are computed by `goals`, or are the file's own.

    With `out_of_core`, the arrays are unpacked next to the file and stay on disk.
    """
    return _load(path, str(path), goals, unpack if out_of_core else read)


def load_in_place(path: Path, source: str) -> Dataset:
    """The checked dataset of a file that is not compressed, whose arrays stay in it; `source` is for messages."""
    return _load(path, source, None, in_place)


def _load(path: Path, source: str, goals: GoalColumns | None, get: Callable[..., dict[str, np.ndarray]]) -> Dataset:
    """The checked dataset of one file, whose large arrays come from `get`, a function of the path and their names."""
    extra = tuple(column for column in goals.columns if column not in REQUIRED) if goals else ()
    if not path.exists():
        raise DataError(f"{path} does not exist; check the path.")
    available = headers(path)
    missing = [name for name in (*REQUIRED, *extra) if name not in available]
    if missing:
        raise DataError(f"{path}: has no {' and no '.join(missing)}; it has {', '.join(available) or 'nothing'}.")
    wanted = (*REQUIRED, *extra, *(["goals"] if "goals" in available else []))
    arrays = get(path, wanted)
    small = read(path, tuple(name for name in NOTES if name in available))
    notes = noted(small)
    observations, actions, terminals = (arrays[name] for name in REQUIRED)
    oracle, origin, goal_origin = arrays.get("goals"), notes.get("origin"), notes.get("goal_origin")
    if goals:
        oracle, goal_origin = _computed(goals, arrays, origin)
    signals = described(notes["signals"], path) if "signals" in notes else None
    if signals is None and observations.ndim == 4 and actions.ndim == 1:
        actions, signals = as_levels(actions, source)
    limits = small.get("action_range")
    return Dataset.from_arrays(observations, actions, terminals, source, oracle, limits, signals, origin, goal_origin)


def _computed(
    goals: GoalColumns, arrays: dict[str, np.ndarray], origin: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Computed goals, (rows, g), and what was subtracted from them.

    If the file's observations have an origin, goals are computed from the original ones, and that of the origin is subtracted.
    """
    columns = [arrays[column] for column in goals.columns]
    if origin is None or goals.columns != ("observations",):
        return np.asarray(goals.compute(*columns), np.float32), None
    goal_origin = np.asarray(goals.compute(origin[None]), np.float64)[0]
    return np.asarray(goals.compute(columns[0] + origin) - goal_origin, np.float32), goal_origin


def read(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Arrays of an `.npz` file, in memory."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable .npz file ({error}); make or download it again.") from None


def bytes_of(path: Path) -> int:
    """`Dataset.bytes` of a file, computed from the headers of its arrays alone."""
    found = headers(path) if path.exists() else {}
    arrays = [found[name] for name in ("observations", "actions", "goals") if name in found]
    rows = found["terminals"].shape if "terminals" in found else (0,)
    return sum((1 if len(array.shape) == 4 else 4) * math.prod(array.shape) for array in arrays) + 4 * 4 * math.prod(rows)


def load_pair(
    path: Path, held_out: float | None = None, goals: GoalColumns | None = None, out_of_core: bool = False
) -> tuple[Dataset, Dataset]:
    """Training and validation data: from the two files, or from one with a share of its episodes held out."""
    if held_out is not None:
        return load(path, goals, out_of_core).split(held_out)
    validation = path.with_name(f"{path.stem}-val.npz")
    if path.exists() and not validation.exists():
        raise DataError(f"{validation} is missing next to {path.name}; put it there, or hold episodes out with --held-out 0.1")
    train, held_out_data = load(path, goals, out_of_core), load(validation, goals, out_of_core)
    if (train.image, _sizes(train)) != (held_out_data.image, _sizes(held_out_data)):
        raise DataError(f"{path} and {validation} differ in the dimensions of their observations or actions; make them equal.")
    if _units(train) != _units(held_out_data):
        raise DataError(f"{path} and {validation} differ in their origin, levels or range of actions; import them together.")
    return train, held_out_data


def _sizes(dataset: Dataset) -> tuple[int, int]:
    """Dimensions of observations and actions."""
    return dataset.observations.shape[1], dataset.actions.shape[1]


def _units(dataset: Dataset) -> list[object]:
    """What the numbers of a dataset stand for."""
    limits = (dataset.origin, dataset.goal_origin, dataset.action_range)
    levels = [signal.levels for signal in dataset.signals.actions if signal.levels] if dataset.signals else []
    return [None if array is None else array.tolist() for array in limits] + [levels]
