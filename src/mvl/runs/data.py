"""The data of a run: loaded, described, and found again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.actions import ActionUnits
from mvl.data.dataset import Dataset
from mvl.data.history import states_at
from mvl.data.inputs import Inputs
from mvl.data.joining import joined
from mvl.data.normalization import Normalization
from mvl.data.sources import npz
from mvl.errors import MvlError, UsageError
from mvl.experiment import DataOptions
from mvl.files import fingerprint
from mvl.recipes.recipe import Learning
from mvl.runs.folder import Description
from mvl.tasks import Task
from mvl.types import Shapes, Statistics


def load_data(task: Task, path: Path | None, options: DataOptions) -> tuple[Dataset, Dataset]:
    """Training and validation data."""
    if isinstance(task.data, Dataset):
        return task.data.split(0.1 if options.held_out is None else options.held_out)
    assert path is not None
    return npz.load_pair(path, options.held_out, task.goal_columns_of_file, bool(options.out_of_core))


def data_file(description: Description, run: Path | str) -> Path:
    """The training file of a run; one that has changed since the run started is refused."""
    origin = description.data
    if not origin["path"]:
        raise UsageError(f"{run} was trained on arrays; continue it from Python, with the same data.")
    path = Path(origin["path"])
    _check_unchanged(path, origin["sha256"], run)
    return path


def data_of(description: Description, given: Dataset | None, run: Path | str) -> tuple[Dataset, Dataset]:
    """The training and validation data of a run: given, or read again from its file."""
    path = data_file(description, run) if given is None or description.data["path"] else None
    task = description.experiment.task
    train, validation = load_data(task if given is None else replace(task, data=given), path, description.experiment.data)
    for added in description.data.get("added", ()):
        _check_unchanged(Path(added["path"]), added["sha256"], run)
        more = npz.load_pair(Path(added["path"]), added["held_out"], task.goal_columns_of_file)
        train, validation = joined(train, more[0]), joined(validation, more[1])
    return train, validation


def _check_unchanged(path: Path, sha256: str, run: Path | str) -> None:
    if not path.exists() or fingerprint(path) != sha256:
        raise MvlError(f"{path} is not the file {run} was trained on; put that file back to continue.")


def shapes_of(dataset: Dataset, learning: Learning | None = None) -> Shapes:
    """Sizes of observations, actions and goals in a dataset, as networks that are trained so get them."""
    chunk, history = (learning.chunk, learning.history) if learning else (1, 1)
    goals = dataset.observations if dataset.oracle is None else dataset.oracle
    levels = ActionUnits.of(dataset).counts
    action = sum(count if count > 2 else 1 for count in levels) or dataset.actions.shape[1]
    observation, plain = history * dataset.observations.shape[1], history == 1 and dataset.oracle is None
    return Shapes(observation, action, goals.shape[1], plain=plain, levels=levels, chunk=chunk, image=dataset.image)


def statistics_of(dataset: Dataset, normalization: Normalization | None, history: int = 1) -> Statistics | None:
    """Statistics of the states as a value gets them; None for images."""
    if dataset.image:
        return None
    if normalization is None and history == 1:
        return dataset.statistics
    states = states_at(dataset.sampled, np.arange(len(dataset.sampled.observations)), history)
    points = normalization.observations.standardized(states) if normalization else states
    return replace(dataset.sampled, observations=points).statistics


def origin_of(path: Path | None, data: Dataset) -> dict[str, Any]:
    """The entry `data` of a run's description."""
    where = {"path": str(path.resolve()), "sha256": fingerprint(path)} if path else {"path": None, "sha256": None}
    return {**where, **contents_of(data)}


def contents_of(data: Dataset) -> dict[str, Any]:
    """What a run's description says of its training data, but for where it is."""
    entries = {**ActionUnits.of(data).to_json(), **Inputs.of(data).to_json(), "observations": ranges_of(data)}
    return {"rows": len(data.transitions), **entries}


def ranges_of(data: Dataset) -> dict[str, list[float]] | None:
    """Lowest value, highest value and standard deviation of each observation dimension; of a sample if there are many rows.

    None for images.
    """
    if data.image:
        return None
    observations = data.sampled.observations
    return {
        "low": observations.min(axis=0).tolist(),
        "high": observations.max(axis=0).tolist(),
        "std": list(data.statistics.std),
    }
