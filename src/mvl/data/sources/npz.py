"""OGBench's layout: one `.npz` with observations, actions and terminals, and a `-val.npz` beside it."""

import os
from pathlib import Path

import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.names import TaskName
from mvl.data.oracle import columns, oracle_goals
from mvl.data.sources.archive import UNREADABLE, check_archive
from mvl.data.sources.images import is_images
from mvl.errors import DataError

FIELDS = ("observations", "actions", "terminals")


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


def load(path: Path, task: TaskName | None = None) -> Dataset:
    """One file, checked; goals are told by the task's oracle or the file's own `goals`. Pickled arrays are never read."""
    extra = columns(task) if task and task.oracle else ()
    if not path.exists():
        raise DataError(f"{path} does not exist.")
    if is_images(path):
        raise DataError(f"{path}: observations are images, which nothing here learns from yet; mvl data check reports on them.")
    try:
        check_archive(path)
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            missing = [field for field in (*FIELDS, *extra) if field not in file]
            if missing:
                raise DataError(f"{path}: has no {' and no '.join(missing)}; it holds {', '.join(file.files) or 'nothing'}.")
            arrays = {field: file[field] for field in FIELDS}
            state = {field: file[field] for field in extra}
            own = {field: file[field] for field in ("goals", "action_range") if field in file}
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable .npz file ({error}); make or download it again.") from None
    goals = oracle_goals(task, state) if task and task.oracle else own.get("goals")
    return Dataset.from_arrays(**arrays, source=str(path), oracle=goals, action_range=own.get("action_range"))


def load_pair(path: Path, held_out: float | None = None, task: TaskName | None = None) -> tuple[Dataset, Dataset]:
    """Training and validation data: from the two files, or from one with a share of its episodes held out."""
    if held_out is not None:
        return load(path, task).split(held_out)
    validation = path.with_name(f"{path.stem}-val.npz")
    if path.exists() and not validation.exists():
        raise DataError(f"{validation} is missing beside {path.name}; put it there, or hold episodes out with --held-out 0.1")
    train, held = load(path, task), load(validation, task)
    if train.observations.shape[1:] != held.observations.shape[1:] or train.actions.shape[1:] != held.actions.shape[1:]:
        raise DataError(f"{path} and {validation} differ in the dimensions of their observations or actions.")
    return train, held
