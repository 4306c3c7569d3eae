"""OGBench's layout: one `.npz` with observations, actions and terminals, and a `-val.npz` beside it."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.sources.archive import UNREADABLE
from mvl.data.unpacking import headers, unpack
from mvl.errors import DataError

FIELDS = ("observations", "actions", "terminals")
OWN = ("goals", "action_range")
"""What a file may hold besides."""


def folders(given: Path | None = None) -> list[Path]:
    """Where datasets are looked for, in order: the given folder alone, or OGBench's own and then ours."""
    if given is not None:
        return [given]
    return [Path("~/.ogbench/data").expanduser(), default_folder()]


def default_folder() -> Path:
    """Where generated datasets go: `$MVL_DATA`, or `~/.mvl/data`."""
    return Path(os.environ.get("MVL_DATA", "~/.mvl/data")).expanduser()


class GoalColumns(NamedTuple):
    """How goals are computed from a data file, where a goal is not a whole observation."""

    columns: tuple[str, ...]
    """Arrays of the file."""
    compute: Callable[..., np.ndarray]
    """These arrays -> goals, (rows, g)."""


def load(path: Path, goals: GoalColumns | None = None, out_of_core: bool = False) -> Dataset:
    """One file, checked. Goals are computed as given, or are the file's own `goals`. Pickled arrays are never read.

    Out of core, the arrays are unpacked beside the file and stay on disk.
    """
    extra = tuple(column for column in goals.columns if column not in FIELDS) if goals else ()
    if not path.exists():
        raise DataError(f"{path} does not exist.")
    held = headers(path)
    missing = [field for field in (*FIELDS, *extra) if field not in held]
    if missing:
        raise DataError(f"{path}: has no {' and no '.join(missing)}; it holds {', '.join(held) or 'nothing'}.")
    if len(held["observations"].shape) == 4:
        raise DataError(f"{path}: observations are images, which nothing here learns from yet; mvl data check reports on them.")
    wanted = (*FIELDS, *extra, *(field for field in OWN if field in held))
    arrays = unpack(path, wanted) if out_of_core else read(path, wanted)
    own = {field: arrays.get(field) for field in OWN}
    told = np.asarray(goals.compute(*(arrays[column] for column in goals.columns)), np.float32) if goals else own["goals"]
    plain = {field: arrays[field] for field in FIELDS}
    return Dataset.from_arrays(**plain, source=str(path), oracle=told, action_range=own["action_range"])


def read(path: Path, fields: tuple[str, ...]) -> dict[str, np.ndarray]:
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {field: file[field] for field in fields}
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable .npz file ({error}); make or download it again.") from None


def bytes_of(path: Path) -> int:
    """What training on a file will hold on its device (`Dataset.bytes`), told from the file's headers alone."""
    held = {field: header.shape for field, header in headers(path).items()} if path.exists() else {}
    arrays = [held[field] for field in ("observations", "actions", "goals") if field in held]
    return sum(4 * math.prod(shape) for shape in arrays) + 4 * 4 * math.prod(held.get("terminals", (0,)))


def load_pair(
    path: Path, held_out: float | None = None, goals: GoalColumns | None = None, out_of_core: bool = False
) -> tuple[Dataset, Dataset]:
    """Training and validation data: from the two files, or from one with a share of its episodes held out."""
    if held_out is not None:
        return load(path, goals, out_of_core).split(held_out)
    validation = path.with_name(f"{path.stem}-val.npz")
    if path.exists() and not validation.exists():
        raise DataError(f"{validation} is missing beside {path.name}; put it there, or hold episodes out with --held-out 0.1")
    train, held = load(path, goals, out_of_core), load(validation, goals, out_of_core)
    if train.observations.shape[1:] != held.observations.shape[1:] or train.actions.shape[1:] != held.actions.shape[1:]:
        raise DataError(f"{path} and {validation} differ in the dimensions of their observations or actions.")
    return train, held
