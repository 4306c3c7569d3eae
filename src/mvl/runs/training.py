"""Train: from a task and a recipe to a run folder with an evaluated, resumable policy."""

import json
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

from mvl import registry
from mvl.checks import COUNT, SEED
from mvl.data.dataset import Dataset
from mvl.data.goals import Rows, on_device
from mvl.data.memory_map import fits
from mvl.data.out_of_core import Mapped
from mvl.data.sources import npz
from mvl.errors import DataError, MvlError, UsageError
from mvl.experiment import DataOptions, Experiment
from mvl.files import fingerprint
from mvl.learn import checkpoint
from mvl.learn.devices import BatchSharding, share_cores
from mvl.learn.learner import Learner, State
from mvl.learn.loop import initial_state
from mvl.machine import free_memory
from mvl.recipes.recipe import Recipe
from mvl.runs import metrics
from mvl.runs.distributed import Team
from mvl.runs.folder import Description, RunFolder
from mvl.runs.session import Session
from mvl.tasks import Task
from mvl.types import Shapes


def train(
    task: str | Path | Task | Dataset | Experiment,
    recipe: str | Recipe = "gcivl-mvl",
    *,
    preset: str = "cpu",
    run: Path | str | None = None,
    seeds: int = 1,
    first_seed: int = 0,
    data: Path | str | None = None,
    held_out: float | None = None,
    out_of_core: bool | None = None,
    workers: int | None = None,
    devices: int | None = None,
    **settings: Any,
) -> Path:
    """Train a recipe and return the run's folder.

    `task` is the name of a task, an .npz file, a Dataset, a Task, or an Experiment, which says everything but where the run
    is written and what it runs on. Other arguments describe an experiment: `data` is the folder of the datasets, `settings`
    replace settings by name (`steps=10_000`, `batch_size=256`) and whole parts (`regularizer=mvl.Mollified(weight=10)`).
    Out of core, rows are read from disk while training; by default if the data does not fit in memory. Every batch is split
    over `devices`. Processes that called `jax.distributed.initialize` and then this train one run together; the first writes.
    """
    _check_numbers(seeds, first_seed)
    if isinstance(task, Experiment):
        experiment = task.with_settings(settings)
    else:
        options = DataOptions(Path(data) if data else None, held_out, out_of_core)
        numbers = range(first_seed, first_seed + seeds)
        experiment = Experiment.from_preset(task, recipe, preset, seeds=numbers, data=options).with_settings(settings)
    return train_experiment(experiment, run, workers, devices)


def train_experiment(experiment: Experiment, run: Path | str | None, workers: int | None, devices: int | None) -> Path:
    """Read the data, make the run folder and train."""
    COUNT.check(workers=workers, devices=devices)
    sharding = _sharding(devices, len(experiment.seeds), experiment.recipe.learning.batch_size)
    task = experiment.task
    target = Path(run) if run else Path("runs") / f"{task.name or 'data'}-{experiment.recipe_name}"
    if Team().first:
        RunFolder.check_new(target)
    if task.check:
        task.check()
    path = None if isinstance(task.data, Dataset) else task.find_data(experiment.data.folder)
    if experiment.data.out_of_core is None:
        too_large = path is not None and not fits(npz.bytes_of(path), free_memory())
        experiment = replace(experiment, data=replace(experiment.data, out_of_core=too_large))
    train_data, validation = _load(task, path, experiment.data)
    _check_fits(experiment.recipe, train_data, validation)
    fitted = experiment.recipe.fit(train_data.statistics)
    description = Description(experiment, fitted, shapes_of(train_data), _origin(path, train_data))
    team = Team()
    _check_same(description, team)
    folder = RunFolder.create(target, description) if team.first else RunFolder(target)
    with folder.claimed() if team.first else nullcontext():
        return _run(folder, description, train_data, validation, None, workers, sharding)


def resume(
    run: Path | str,
    steps: int | None = None,
    data: Dataset | None = None,
    workers: int | None = None,
    devices: int | None = None,
) -> Path:
    """Continue a run from its last checkpoint, exactly (on as many devices as before); `steps` may lengthen it."""
    COUNT.check(steps=steps, workers=workers, devices=devices)
    if devices is None and (Path(run) / "run.json").exists():
        share_cores(len(RunFolder.open(Path(run))[1].experiment.seeds))
    team = Team()
    if not team.first:
        description = Description.from_json(json.loads(team.exchange()[0]))  # the folder may lie on the first one's host alone
        split = BatchSharding.over(devices, description.fitted.learning.batch_size)
        return _run(RunFolder(Path(run)), description, *data_of(description, data, run), None, workers, split)
    folder, before = RunFolder.open(Path(run))
    description = _lengthened(before, steps, run)
    split = BatchSharding.over(devices, description.fitted.learning.batch_size)
    with folder.claimed():
        team.exchange(json.dumps(description.to_json()))
        train_data, validation = data_of(description, data, run)
        state, sizes = _last_checkpoint(folder, description)
        if description != before:
            folder.describe(description)
        _rewind(folder, description, int(state.step[0]) if state else 0, sizes)
        return _run(folder, description, train_data, validation, state, workers, split)


def _lengthened(description: Description, steps: int | None, run: Path | str) -> Description:
    if steps is None or steps == description.experiment.schedule.steps:
        return description
    if steps < description.experiment.schedule.steps:
        raise UsageError(f"{run} is planned for {description.experiment.schedule.steps} steps; --steps can only lengthen it.")
    return replace(description, experiment=description.experiment.with_settings({"steps": steps}))


def _last_checkpoint(folder: RunFolder, description: Description) -> tuple[State | None, Any]:
    """The state to go on from, and the sizes that the files of rows had then; no state before the first checkpoint."""
    if not folder.checkpoint_file.exists():
        return None, {file.name: 0 for file in (folder.metrics_file, folder.evaluations_file)}
    learner = Learner(description.fitted, description.shapes)
    like = jax.eval_shape(lambda: initial_state(learner, description.experiment.seeds))
    state, notes = checkpoint.load(folder.checkpoint_file, like)
    return state, notes.get("sizes")


def _rewind(folder: RunFolder, description: Description, step: int, sizes: Any) -> None:
    """Bring metrics and evaluations back to the checkpoint, and say so if they are not as it left them."""
    schedule = description.experiment.schedule
    for file, every in ((folder.metrics_file, schedule.log_every), (folder.evaluations_file, schedule.eval_every)):
        expected = metrics.due(step, every, schedule.steps)
        noted = sizes.get(file.name) if isinstance(sizes, dict) else None
        with folder.writing(file):
            told = metrics.rewind(file, step, noted, expected, description.experiment.seeds)
        if told:
            print(told, file=sys.stderr)


def _check_numbers(seeds: int, first_seed: int) -> None:
    COUNT.check(seeds=seeds)
    SEED.check(first_seed=first_seed)
    SEED.check(last_seed=first_seed + seeds - 1)


def _sharding(devices: int | None, seeds: int, batch_size: int) -> BatchSharding | None:
    """How batches are split; if they are not, a CPU's cores may share the seeds."""
    if devices is None:
        share_cores(seeds)
    return BatchSharding.over(devices, batch_size)


def data_of(description: Description, given: Dataset | None, run: Path | str) -> tuple[Dataset, Dataset]:
    """The training and validation data of a run; data that has changed since is refused."""
    origin = description.data
    path = Path(origin["path"]) if origin["path"] else None
    if path is None and given is None:
        raise UsageError(f"{run} was trained on arrays; continue it from Python, with the same data.")
    if path is not None and (not path.exists() or fingerprint(path) != origin["sha256"]):
        raise MvlError(f"{path} is not the file {run} was trained on; put that file back to continue.")
    task = description.experiment.task
    return _load(task if given is None else replace(task, data=given), path, description.experiment.data)


def shapes_of(dataset: Dataset) -> Shapes:
    goals = dataset.observations if dataset.oracle is None else dataset.oracle
    observation, action, goal = (array.shape[1] for array in (dataset.observations, dataset.actions, goals))
    return Shapes(observation, action, goal, plain=dataset.oracle is None)


def _load(task: Task, path: Path | None, options: DataOptions) -> tuple[Dataset, Dataset]:
    """Training and validation data."""
    if isinstance(task.data, Dataset):
        return task.data.split(0.1 if options.held_out is None else options.held_out)
    assert path is not None
    return npz.load_pair(path, options.held_out, task.goal_columns_of_file, bool(options.out_of_core))


def _check_fits(recipe: Recipe, *datasets: Dataset) -> None:
    for dataset in datasets:
        if recipe.request.midpoints and dataset.lengths.max() < 3:
            value = registry.name_of("value", recipe.value)
            raise DataError(f"{dataset.source}: no episode has more than one transition; value {value} needs a goal ahead.")


def _origin(path: Path | None, data: Dataset) -> dict[str, Any]:
    where = {"path": str(path.resolve()), "sha256": fingerprint(path)} if path else {"path": None, "sha256": None}
    return {**where, "action_range": None if data.action_range is None else data.action_range.tolist()}


def _check_same(description: Description, team: Team) -> None:
    """All processes must have equal descriptions, except for the paths of their files."""
    described = description.to_json()
    named = None if description.experiment.task.is_own else description.experiment.task.name
    described |= {"data": {**described["data"], "path": None}, "task": named}
    first, *others = (json.loads(word) for word in team.exchange(json.dumps(described)))
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
    split: BatchSharding | None,
) -> Path:
    """Train to the end of the schedule: metrics, evaluations and checkpoints on the way."""
    placed = Mapped.of if description.experiment.data.out_of_core else on_device
    rows = placed(data)
    if split and isinstance(rows, Rows):
        rows = split.place(rows)
    session = Session(folder, description, rows, placed(validation), workers, split)
    with session:
        session.go(state)
    return folder.path
