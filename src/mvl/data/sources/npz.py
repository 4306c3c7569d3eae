"""OGBench's layout: one `.npz` with observations, actions and terminals, and a `-val.npz` beside it."""

import math
import os
from pathlib import Path

import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.names import TaskName
from mvl.data.oracle import columns, oracle_goals
from mvl.data.sources.archive import UNREADABLE
from mvl.data.sources.unpacked import headers, unpack
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


def find(task: TaskName, folder: Path | None = None) -> Path:
    """The training file of a task."""
    looked = folders(folder)
    for place in looked:
        if (place / f"{task.data}.npz").exists():
            return place / f"{task.data}.npz"
    places = " and ".join(str(place) for place in looked)
    where = f" --data {folder}" if folder else ""
    fetch = f"fetch it with: mvl data pull {task.data}{where}"
    offer = f"make it with: mvl data generate {task.data}{where}, or {fetch}"
    from mvl.data.generate.run import MAKERS

    hint = offer if task.family in MAKERS else fetch
    raise DataError(f"{task.data}.npz is not in {places}; {hint}")


def load(path: Path, task: TaskName | None = None, mapped: bool = False) -> Dataset:
    """One file, checked; goals are told by the task's oracle or the file's own `goals`. Pickled arrays are never read.

    If mapped, its arrays are unpacked beside it and stay there.
    """
    extra = columns(task) if task and task.oracle else ()
    if not path.exists():
        raise DataError(f"{path} does not exist.")
    held = headers(path)
    missing = [field for field in (*FIELDS, *extra) if field not in held]
    if missing:
        raise DataError(f"{path}: has no {' and no '.join(missing)}; it holds {', '.join(held) or 'nothing'}.")
    if len(held["observations"].shape) == 4:
        raise DataError(f"{path}: observations are images, which nothing here learns from yet; mvl data check reports on them.")
    wanted = (*FIELDS, *extra, *(field for field in OWN if field in held))
    arrays = unpack(path, wanted) if mapped else read(path, wanted)
    own = {field: arrays.get(field) for field in OWN}
    goals = oracle_goals(task, arrays) if task and task.oracle else own["goals"]
    plain = {field: arrays[field] for field in FIELDS}
    return Dataset.from_arrays(**plain, source=str(path), oracle=goals, action_range=own["action_range"])


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
    path: Path, held_out: float | None = None, task: TaskName | None = None, mapped: bool = False
) -> tuple[Dataset, Dataset]:
    """Training and validation data: from the two files, or from one with a share of its episodes held out."""
    if held_out is not None:
        return load(path, task, mapped).split(held_out)
    validation = path.with_name(f"{path.stem}-val.npz")
    if path.exists() and not validation.exists():
        raise DataError(f"{validation} is missing beside {path.name}; put it there, or hold episodes out with --held-out 0.1")
    train, held = load(path, task, mapped), load(validation, task, mapped)
    if train.observations.shape[1:] != held.observations.shape[1:] or train.actions.shape[1:] != held.actions.shape[1:]:
        raise DataError(f"{path} and {validation} differ in the dimensions of their observations or actions.")
    return train, held
