"""Train: from a task and a recipe to a run folder with an evaluated, resumable policy."""

import json
import sys
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mvl import registry
from mvl.data.dataset import Dataset
from mvl.data.files import fingerprint
from mvl.data.goals import Rows, on_device
from mvl.data.mapped import Mapped
from mvl.data.mapping import fits
from mvl.data.names import TaskName
from mvl.data.sources import npz
from mvl.errors import DataError, MvlError, UsageError, unknown
from mvl.evaluation.environments import slot_class
from mvl.learn import checkpoint
from mvl.learn.learner import Learner, State
from mvl.learn.loop import initial_state
from mvl.learn.split import Split
from mvl.learn.spread import share_cores
from mvl.recipes.presets import Schedule, named_recipe
from mvl.recipes.recipe import Recipe
from mvl.runs import metrics
from mvl.runs.devices import room
from mvl.runs.folder import Description, RunFolder
from mvl.runs.hosts import Team
from mvl.runs.session import Session
from mvl.types import Shapes


def train(
    task: str | Path | Dataset,
    recipe: str | Recipe = "gcivl-mvl",
    *,
    preset: str = "cpu",
    run: Path | str | None = None,
    seeds: int = 1,
    first_seed: int = 0,
    data: Path | str | None = None,
    held_out: float | None = None,
    mapped: bool | None = None,
    workers: int | None = None,
    devices: int | None = None,
    **changes: Any,
) -> Path:
    """Train a recipe and return the run's folder.

    `task` is a task of OGBench, a kitchen, the path of an .npz file, or a Dataset. `changes` replaces parts of the recipe
    (`regularizer=mvl.Mollified(weight=10)`) and settings of the schedule and the learning (`steps`, `batch_size`, ...).
    Data that is `mapped` stays on disk; unless said, if it does not fit in memory. Every batch is split over so many `devices`;
    processes that called `jax.distributed.initialize` and then this train one run together, of which the first writes.
    """
    name = None if isinstance(task, Dataset) or is_file(task) else TaskName.parse(str(task))
    made, schedule = _planned(recipe, preset, name, changes)
    split = _split(devices, seeds, made.learning.batch_size)
    if name:
        slot_class(str(name))  # complains now if its environment is not installed
    path = _data_path(task, name, data)
    if mapped is None:
        mapped = path is not None and not fits(npz.bytes_of(path), room())
    train_data, validation = _load(task, path, held_out, name, mapped)
    _check_fits(made, train_data, validation)
    description = Description(
        task=str(name or path or "arrays"),
        simulated=name is not None,
        recipe_name=recipe if isinstance(recipe, str) else "custom",
        recipe=made,
        fitted=made.fit(train_data.statistics),
        schedule=schedule,
        seeds=list(range(first_seed, first_seed + seeds)),
        shapes=shapes_of(train_data),
        data={**_origin(path, held_out), "mapped": mapped, "action_range": _listed(train_data.action_range)},
    )
    team = Team()
    _check_same(description, team)
    target = Path(run) if run else Path("runs") / f"{name or 'data'}-{description.recipe_name}"
    folder = RunFolder.create(target, description) if team.first else RunFolder(target)
    with folder.claimed() if team.first else nullcontext():
        return _run(folder, description, train_data, validation, None, workers, split)


def resume(
    run: Path | str,
    steps: int | None = None,
    data: Dataset | None = None,
    workers: int | None = None,
    devices: int | None = None,
) -> Path:
    """Continue a run from its last checkpoint, exactly (on as many devices as before); `steps` may lengthen it."""
    if devices is None and (Path(run) / "run.json").exists():
        share_cores(len(RunFolder.open(Path(run))[1].seeds))
    team = Team()
    if not team.first:
        description = Description.from_json(json.loads(team.exchange()[0]))  # the folder may lie on the first one's host alone
        split = Split.over(devices, description.fitted.learning.batch_size)
        return _run(RunFolder(Path(run)), description, *data_of(description, data, run), None, workers, split)
    folder, before = RunFolder.open(Path(run))
    description = _lengthened(before, steps, run)
    split = Split.over(devices, description.fitted.learning.batch_size)
    with folder.claimed():
        team.exchange(json.dumps(description.to_json()))
        train_data, validation = data_of(description, data, run)
        state, sizes = _last_checkpoint(folder, description)
        if description != before:
            folder.describe(description)
        _rewind(folder, description, int(state.step[0]) if state else 0, sizes)
        return _run(folder, description, train_data, validation, state, workers, split)


def _lengthened(description: Description, steps: int | None, run: Path | str) -> Description:
    if steps is None or steps == description.schedule.steps:
        return description
    if steps < description.schedule.steps:
        raise UsageError(f"{run} is planned for {description.schedule.steps} steps; --steps can only lengthen it.")
    return replace(description, schedule=replace(description.schedule, steps=steps))


def _last_checkpoint(folder: RunFolder, description: Description) -> tuple[State | None, Any]:
    """The state to go on from, and the sizes that the files of rows had then; no state before the first checkpoint."""
    if not folder.checkpoint_file.exists():
        return None, {file.name: 0 for file in (folder.metrics_file, folder.evaluations_file)}
    learner = Learner(description.fitted, description.shapes)
    like = jax.eval_shape(lambda: initial_state(learner, description.seeds))
    state, notes = checkpoint.load(folder.checkpoint_file, like)
    return state, notes.get("sizes")


def _rewind(folder: RunFolder, description: Description, step: int, sizes: Any) -> None:
    """Bring metrics and evaluations back to the checkpoint, and say so if they are not as it left them."""
    schedule = description.schedule
    for file, every in ((folder.metrics_file, schedule.log_every), (folder.evaluations_file, schedule.eval_every)):
        expected = metrics.due(step, every, schedule.steps)
        noted = sizes.get(file.name) if isinstance(sizes, dict) else None
        with folder.writing(file):
            told = metrics.rewind(file, step, noted, expected, description.seeds)
        if told:
            print(told, file=sys.stderr)


def _split(devices: int | None, seeds: int, batch_size: int) -> Split | None:
    """How batches are split; if they are not, a CPU's cores may share the seeds."""
    if devices is None:
        share_cores(seeds)
    return Split.over(devices, batch_size)


def data_of(description: Description, given: Dataset | None, run: Path | str) -> tuple[Dataset, Dataset]:
    """The data a run was trained on; anything else is refused."""
    origin = description.data
    path = Path(origin["path"]) if origin["path"] else None
    if path is None and given is None:
        raise UsageError(f"{run} was trained on arrays; continue it from Python, with the same data.")
    if path is not None and (not path.exists() or fingerprint(path) != origin["sha256"]):
        raise MvlError(f"{path} is not the file {run} was trained on; put that file back to continue.")
    name = TaskName.parse(description.task) if description.simulated else None
    return _load(given or Path(), path, origin["held_out"], name, is_mapped(description))


def is_mapped(description: Description) -> bool:
    return description.data.get("mapped", False)  # runs of earlier versions do not say


def is_file(task: str | Path) -> bool:
    return isinstance(task, Path) or str(task).endswith(".npz")


def shapes_of(dataset: Dataset) -> Shapes:
    goals = dataset.observations if dataset.oracle is None else dataset.oracle
    observation, action, goal = (array.shape[1] for array in (dataset.observations, dataset.actions, goals))
    return Shapes(observation, action, goal, plain=dataset.oracle is None)


def _planned(recipe: str | Recipe, preset: str, name: TaskName | None, changes: dict[str, Any]) -> tuple[Recipe, Schedule]:
    """The recipe and the schedule with the caller's changes."""
    base, schedule = named_recipe(recipe if isinstance(recipe, str) else "gcivl", preset, name)
    made = base if isinstance(recipe, str) else recipe
    known = [{field.name for field in fields(part)} for part in (made, made.learning, schedule)]
    for key in changes:
        if not any(key in names for names in known):
            raise unknown("setting", key, set().union(*known))
    for_recipe, for_learning, for_schedule = ({k: v for k, v in changes.items() if k in names} for names in known)
    learning = replace(for_recipe.pop("learning", made.learning), **for_learning)
    return replace(made, **for_recipe, learning=learning), replace(schedule, **for_schedule)


def _data_path(task: str | Path | Dataset, name: TaskName | None, folder: Path | str | None) -> Path | None:
    if isinstance(task, Dataset):
        return None
    return npz.find(name, Path(folder) if folder else None) if name else Path(task)


def _load(
    given: str | Path | Dataset, path: Path | None, held_out: float | None, name: TaskName | None, mapped: bool
) -> tuple[Dataset, Dataset]:
    if isinstance(given, Dataset):
        return given.split(held_out or 0.1)
    assert path is not None
    return npz.load_pair(path, held_out, name, mapped)


def _check_fits(recipe: Recipe, *datasets: Dataset) -> None:
    for dataset in datasets:
        if recipe.wants.midpoints and dataset.lengths.max() < 3:
            value = registry.name_of("value", recipe.value)
            raise DataError(f"{dataset.source}: no episode has more than one transition; value {value} needs a goal ahead.")


def _listed(array: np.ndarray | None) -> list[list[float]] | None:
    return None if array is None else array.tolist()


def _origin(path: Path | None, held_out: float | None) -> dict[str, Any]:
    where = {"path": str(path.resolve()), "sha256": fingerprint(path)} if path else {"path": None, "sha256": None}
    return {**where, "held_out": held_out}


def _check_same(description: Description, team: Team) -> None:
    """All processes must be about to train the same; where their files lie is their own affair."""
    told = description.to_json()
    told |= {"data": {**told["data"], "path": None}, "task": told["task"] if description.simulated else None}
    first, *others = (json.loads(word) for word in team.exchange(json.dumps(told)))
    for process, other in enumerate(others, 1):
        different = [field for field in first if other[field] != first[field]]
        if different:
            raise UsageError(
                f"process {process} has another {different[0]} than process 0; give all the same options, but for --process-id."
            )


def _run(
    folder: RunFolder,
    description: Description,
    data: Dataset,
    validation: Dataset,
    state: State | None,
    workers: int | None,
    split: Split | None,
) -> Path:
    """Train to the end of the schedule: metrics, evaluations and checkpoints on the way."""
    placed = Mapped.of if is_mapped(description) else on_device
    rows = placed(data)
    if split and isinstance(rows, Rows):
        rows = split.copied(rows)
    session = Session(folder, description, rows, placed(validation), workers, split)
    with session:
        session.go(state)
    return folder.path
