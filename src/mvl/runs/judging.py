"""Held-out measures of a run, from its last checkpoint and its data; a run without an environment is evaluated by them."""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.sources import npz
from mvl.errors import DamagedError, DataError
from mvl.evaluation.acting import as_act, batched_act
from mvl.evaluation.held_out import dynamics
from mvl.evaluation.held_out.measures import BEST, MEASURES, measured
from mvl.evaluation.held_out.trial import Trial
from mvl.evaluation.rollout import Played
from mvl.experiment import DataOptions
from mvl.files import atomic, refuse_links
from mvl.runs import evaluation
from mvl.runs.data import data_file, data_of, load_data
from mvl.runs.evaluation import planners_of
from mvl.runs.folder import Description, RunFolder
from mvl.runs.metrics import round_to
from mvl.runs.restore import restore
from mvl.tasks import Task


class Judged(NamedTuple):
    """Held-out measures of the policies of a run."""

    step: int
    """Training step of the checkpoint."""
    seeds: tuple[int, ...]
    measures: dict[str, np.ndarray]  # name -> (seeds,)

    @property
    def overall(self) -> np.ndarray:
        """The measure that ranks policies best, (seeds,)."""
        return self.measures[BEST]

    def of(self, seed: int) -> dict[str, float]:
        """The measures of one seed by name."""
        return {name: float(values[self.seeds.index(seed)]) for name, values in self.measures.items()}


def evaluate(
    run: Path | str,
    *,
    env: Callable[[], Any] | str | None = None,
    data: Path | str | Dataset | None = None,
    **playing: Any,
) -> Played | Judged:
    """Success of a run's policies in an environment; without one, measures from held-out episodes.

    Args:
        run: Folder of the run; its last checkpoint is evaluated, all seeds.
        env: Makes a Gymnasium environment to play in: a function or `module:function`. By default the task's own.
        data: Held-out episodes to judge by instead of the run's own, as an .npz file or a Dataset; nothing is played then.
        **playing: `episodes` for each goal (50), `seed`, `temperature` of the policy, `plan` ("none" or "graph"),
            `execute` ("open" or "blended") for chunks, `task`, the name of another task to play, `goals` of `env`,
            `workers`, and `record=True` to keep the paths.

    Returns:
        Played, with `per_task` (seeds, tasks) and `overall` (seeds,); or Judged, with `measures`, {name: (seeds,)}.

    Examples:
        >>> mvl.evaluate("runs/mine", episodes=20).per_task
    """
    description = RunFolder.open(Path(run))[1]
    if data is None and (env or playing.get("task") or description.task.simulated):
        return evaluation.evaluate(run, env=env, **playing)
    return judge(run, data)


def judge(run: Path | str, data: Path | str | Dataset | None = None) -> Judged:
    """Held-out measures of the policies of all seeds in a run's last checkpoint; takes some seconds."""
    description, learner, state = restore(run)
    experiment = description.experiment
    if description.data.get("added"):
        train, held_out = data_of(description, None, run)
    else:
        train, held_out = _loaded(experiment.task, data_file(description, run), experiment.data, description.data["sha256"])
    if data is not None:
        held_out = _other(data, description, held_out)
    policy = batched_act(learner, len(experiment.seeds), experiment.schedule.eval_temperature)
    planners = planners_of(Path(run), description, learner, state)
    act = as_act(policy, state.params, planners, experiment.schedule.execute)
    if train.image:
        raise DataError(f"{run} learned from images, which held-out measures do not know; evaluate it in an environment.")
    trial = Trial(learner, state.params, act, held_out, _dynamics(train))
    return Judged(int(state.step[0]), experiment.seeds, measured(trial))


_dynamics = lru_cache(maxsize=1)(dynamics.fit)
"""The model of the last dataset, since many runs are trained on the same one."""


@lru_cache(maxsize=1)
def _loaded(task: Task, path: Path, options: DataOptions, sha256: str) -> tuple[Dataset, Dataset]:
    """Training and validation data of a file with this checksum; the last one is kept."""
    return load_data(task, path, options)


def _other(data: Path | str | Dataset, description: Description, like: Dataset) -> Dataset:
    """Other held-out episodes, which must have the dimensions of the run's own."""
    found = data if isinstance(data, Dataset) else npz.load(Path(data), description.task.goal_columns_of_file)
    sizes = [(one.observations.shape[1], one.actions.shape[1], one.as_goals(np.arange(1)).shape[1]) for one in (found, like)]
    if sizes[0] != sizes[1]:
        raise DataError(f"{found.source}: has other dimensions than the data of the run; give episodes of the same robot.")
    return found


def measures_of(run: Path, save: bool = True) -> Judged | None:
    """The measures of a run, computed once for a checkpoint and saved in the run's folder unless told otherwise.

    None if nothing is saved and there is no checkpoint, as in records.
    """
    folder = RunFolder(run)
    written, checkpoint = folder.held_out_file, folder.checkpoint_file
    fresh = written.exists() and (not checkpoint.exists() or written.stat().st_mtime >= checkpoint.stat().st_mtime)
    known = saved_measures(run) if fresh else None
    if known or not checkpoint.exists():
        return known
    refuse_links(written)
    found = judge(run)
    if save:
        values = {name: [round_to(value) for value in array] for name, array in found.measures.items()}
        with folder.writing(written), atomic(written) as partial:
            partial.write_text(json.dumps({"step": found.step, "seeds": found.seeds, "measures": values}) + "\n")
    return found


def saved_measures(run: Path) -> Judged | None:
    """The measures in a run's folder; None if there are none, or if they are those of another version."""
    file = RunFolder(run).held_out_file
    if not file.exists():
        return None
    try:
        content = json.loads(file.read_text())
        measures = {name: np.array(values, float) for name, values in content["measures"].items()}
        found = Judged(int(content["step"]), tuple(content["seeds"]), measures)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{file}: not the measures of a run ({error!r}); remove it, and they are made again.") from None
    return found if BEST in found.measures and found.measures.keys() <= MEASURES.keys() else None
