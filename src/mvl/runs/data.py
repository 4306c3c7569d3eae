"""The data of a run: loaded, described, and found again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from mvl.data.dataset import Dataset
from mvl.data.sources import npz
from mvl.errors import MvlError, UsageError
from mvl.experiment import DataOptions
from mvl.files import fingerprint
from mvl.runs.folder import Description
from mvl.tasks import Task
from mvl.types import Shapes


def load_data(task: Task, path: Path | None, options: DataOptions) -> tuple[Dataset, Dataset]:
    """Training and validation data."""
    if isinstance(task.data, Dataset):
        return task.data.split(0.1 if options.held_out is None else options.held_out)
    assert path is not None
    return npz.load_pair(path, options.held_out, task.goal_columns_of_file, bool(options.out_of_core))


def data_of(description: Description, given: Dataset | None, run: Path | str) -> tuple[Dataset, Dataset]:
    """The training and validation data of a run; a file that has changed since the run started is refused."""
    origin = description.data
    path = Path(origin["path"]) if origin["path"] else None
    if path is None and given is None:
        raise UsageError(f"{run} was trained on arrays; continue it from Python, with the same data.")
    if path is not None and (not path.exists() or fingerprint(path) != origin["sha256"]):
        raise MvlError(f"{path} is not the file {run} was trained on; put that file back to continue.")
    task = description.experiment.task
    return load_data(task if given is None else replace(task, data=given), path, description.experiment.data)


def shapes_of(dataset: Dataset) -> Shapes:
    """Sizes of observations, actions and goals in a dataset."""
    goals = dataset.observations if dataset.oracle is None else dataset.oracle
    observation, action, goal = (array.shape[1] for array in (dataset.observations, dataset.actions, goals))
    return Shapes(observation, action, goal, plain=dataset.oracle is None)


def origin_of(path: Path | None, data: Dataset) -> dict[str, Any]:
    """The entry `data` of a run's description."""
    where = {"path": str(path.resolve()), "sha256": fingerprint(path)} if path else {"path": None, "sha256": None}
    action_range = None if data.action_range is None else data.action_range.tolist()
    return {**where, "rows": len(data.transitions), "action_range": action_range, "observations": ranges_of(data)}


def ranges_of(data: Dataset) -> dict[str, list[float]]:
    """Lowest value, highest value and standard deviation of each observation dimension; of a sample if there are many rows."""
    observations = data.sampled.observations
    return {
        "low": observations.min(axis=0).tolist(),
        "high": observations.max(axis=0).tolist(),
        "std": list(data.statistics.std),
    }
