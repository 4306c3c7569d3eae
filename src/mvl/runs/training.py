"""Train: from a task and a recipe to a run folder with an evaluated, resumable policy."""

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax

from mvl import registry
from mvl.checks import COUNT, SEED
from mvl.data.dataset import Dataset
from mvl.data.goals import Rows, on_device
from mvl.data.memory_map import fits
from mvl.data.normalization import Normalization
from mvl.data.out_of_core import Mapped
from mvl.data.sources import npz
from mvl.errors import DataError, UsageError
from mvl.experiment import DataOptions, Experiment
from mvl.learn import checkpoint
from mvl.learn.devices import BatchSharding, arithmetic, share_cores
from mvl.learn.learner import State
from mvl.learn.loop import initial_state
from mvl.machine import free_memory
from mvl.planning.graph import Places, calibrating
from mvl.recipes.presets import DEFAULT
from mvl.recipes.recipe import Recipe
from mvl.runs import metrics, tracking
from mvl.runs.data import data_of, load_data, origin_of, shapes_of, statistics_of
from mvl.runs.distributed import Team
from mvl.runs.folder import Description, RunFolder
from mvl.runs.planning import planner_of
from mvl.runs.restore import learner_of
from mvl.runs.session import Session
from mvl.runs.tracking import Tracking
from mvl.tasks import Task

MOST_IMAGES = 2**30
"""Bytes of images up to which they are kept in memory while training."""


def train(
    task: str | Path | Task | Dataset | Experiment,
    recipe: str | Recipe = "gcivl-mvl",
    *,
    preset: str = DEFAULT,
    run: Path | str | None = None,
    seeds: int = 1,
    first_seed: int = 0,
    data: Path | str | None = None,
    held_out: float | None = None,
    out_of_core: bool | None = None,
    workers: int | None = None,
    devices: int | None = None,
    track: str | Sequence[str] = (),
    **settings: Any,
) -> Path:
    """Train a recipe and return the run's folder.

    Processes that call `jax.distributed.initialize` before this train one run together, and the first of them writes it.

    Args:
        task: Name of a task, an .npz file, a Dataset, a Task, or an Experiment, which describes everything but the folder of
            the run and the hardware.
        recipe: Name of a recipe, as `mvl recipes` lists them, or a Recipe.
        preset: Sizes and schedule: laptop, cpu or paper.
        run: New folder of the run; by default runs/TASK-RECIPE.
        seeds: Number of seeds to train in this run.
        first_seed: Number of the first seed.
        data: Folder of the datasets.
        held_out: Share of the episodes for validation, instead of the -val.npz file.
        out_of_core: Whether rows are read from disk during training; by default if the data does not fit in memory.
        workers: Processes for evaluations; by default one per core.
        devices: Number of devices over which every batch is split.
        track: Names of trackers that also show the run: tensorboard, wandb, trackio.
        **settings: Settings by name (`steps=10_000`, `batch_size=256`, `**{"policy.alpha": 3.0}`) and whole parts
            (`regularizer=mvl.Mollified(weight=10)`).

    Returns:
        The folder of the run, for `evaluate`, `load_policy` and the commands.

    Examples:
        >>> run = mvl.train("pointmaze-medium-navigate-v0", "gcivl-mvl", seeds=2, steps=20_000)
        >>> run = mvl.train("demos.npz", held_out=0.1, regularizer=mvl.Slope(weight=0.3))
    """
    _check_numbers(seeds, first_seed)
    if isinstance(task, Experiment):
        experiment = task.with_settings(settings)
    else:
        options = DataOptions(Path(data) if data else None, held_out, out_of_core)
        numbers = range(first_seed, first_seed + seeds)
        experiment = Experiment.from_preset(task, recipe, preset, seeds=numbers, data=options).with_settings(settings)
    return train_experiment(experiment, run, workers, devices, track)


def train_experiment(
    experiment: Experiment,
    run: Path | str | None,
    workers: int | None,
    devices: int | None,
    track: str | Sequence[str] = (),
) -> Path:
    """Read the data, make the run folder and train."""
    COUNT.check(workers=workers, devices=devices)
    sharding = sharding_of(devices, len(experiment.seeds), experiment.recipe.learning.batch_size)
    task = experiment.task
    target = Path(run) if run else Path("runs") / f"{task.name or 'data'}-{experiment.recipe_name}"
    trackers = tracking.chosen(track, target)
    if Team().first:
        RunFolder.check_new(target)
    if task.check:
        task.check()
    path = None if isinstance(task.data, Dataset) else task.find_data(experiment.data.folder)
    if experiment.data.out_of_core is None:
        size = npz.bytes_of(path) if path else 0
        too_large = not fits(size, free_memory()) or (task.images and size > MOST_IMAGES)
        experiment = replace(experiment, data=replace(experiment.data, out_of_core=too_large))
    train_data, validation = load_data(task, path, experiment.data)
    check_fits(experiment.recipe, train_data, validation)
    if task.simulated and (graph := planner_of(experiment.schedule)):
        calibrating(graph, validation)  # refuses data on which evaluations could not plan
    if train_data.image:  # encoders divide bytes themselves
        experiment = experiment.with_settings({"normalize": False})
    normalization = Normalization.of(train_data) if experiment.recipe.learning.normalize else None
    learning = experiment.recipe.learning
    fitted = experiment.recipe.fit(statistics_of(train_data, normalization, learning.history))
    shapes = shapes_of(train_data, learning)
    description = Description(experiment, fitted, shapes, origin_of(path, train_data), normalization)
    team = Team()
    check_same(description, team)
    folder = RunFolder.create(target, description) if team.first else RunFolder(target)
    with folder.locked() if team.first else nullcontext():
        return train_in(folder, description, train_data, validation, None, workers, sharding, trackers)


def resume(
    run: Path | str,
    steps: int | None = None,
    data: Dataset | None = None,
    workers: int | None = None,
    devices: int | None = None,
    track: str | Sequence[str] | None = None,
) -> Path:
    """Continue a run from its last checkpoint; `steps` may lengthen it. On as many devices, it equals an unbroken run.

    `track` names trackers, by default those that it had.
    """
    COUNT.check(steps=steps, workers=workers, devices=devices)
    if devices is None and (Path(run) / "run.json").exists():
        share_cores(len(RunFolder.open(Path(run))[1].experiment.seeds))
    team = Team()
    if not team.first:
        description = Description.from_json(
            json.loads(team.exchange()[0])
        )  # only the first process may have access to the folder
        sharding = BatchSharding.over(devices, description.fitted.learning.batch_size)
        return train_in(RunFolder(Path(run)), description, *data_of(description, data, run), None, workers, sharding, [])
    folder, before = RunFolder.open(Path(run))
    description = _lengthened(before, steps, run)
    trackers = tracking.chosen(track, folder.path)
    sharding = BatchSharding.over(devices, description.fitted.learning.batch_size)
    with folder.locked():
        team.exchange(json.dumps(description.to_json()))
        train_data, validation = data_of(description, data, run)
        state, notes = _last_checkpoint(folder, description)
        _compare_arithmetic(notes.get("arithmetic"), arithmetic(sharding))
        if description != before:
            folder.describe(description)
        _rewind(folder, description, int(state.step[0]) if state else 0, notes.get("sizes"))
        return train_in(folder, description, train_data, validation, state, workers, sharding, trackers)


def _lengthened(description: Description, steps: int | None, run: Path | str) -> Description:
    """The description with a new number of steps, which may only be larger; None leaves it unchanged."""
    if steps is None or steps == description.experiment.schedule.steps:
        return description
    if steps < description.experiment.schedule.steps:
        raise UsageError(f"{run} is planned for {description.experiment.schedule.steps} steps; --steps can only lengthen it.")
    return replace(description, experiment=description.experiment.with_settings({"steps": steps}))


def _last_checkpoint(folder: RunFolder, description: Description) -> tuple[State | None, dict[str, Any]]:
    """The state to continue from, or None without a checkpoint; and its notes: sizes of metrics and evaluations, arithmetic."""
    if not folder.checkpoint_file.exists():
        return None, {"sizes": {file.name: 0 for file in (folder.metrics_file, folder.evaluations_file)}}
    learner = learner_of(description)
    like = jax.eval_shape(lambda: initial_state(learner, description.experiment.seeds))
    return checkpoint.load(folder.checkpoint_file, like)


def _compare_arithmetic(before: Any, now: dict[str, Any]) -> None:
    """Print a warning if the run was trained with another arithmetic; version 0.1 did not note its own."""
    if isinstance(before, dict) and before != now:
        changed = ", ".join(
            f"{name} {before.get(name)} before, {value} now" for name, value in now.items() if before.get(name) != value
        )
        print(
            f"mvl: the run continues with another arithmetic ({changed}): its last digits will differ from an unbroken run.",
            file=sys.stderr,
        )


def _rewind(folder: RunFolder, description: Description, step: int, sizes: Any) -> None:
    """Remove metrics and evaluations after the checkpoint; print a warning if those before it do not match."""
    schedule = description.experiment.schedule
    for file, every in ((folder.metrics_file, schedule.log_every), (folder.evaluations_file, schedule.eval_every)):
        expected = metrics.due(step, every, schedule.steps)
        size = sizes.get(file.name) if isinstance(sizes, dict) else None
        with folder.writing(file):
            warning = metrics.rewind(file, step, size, expected, description.experiment.seeds)
        if warning:
            print(warning, file=sys.stderr)


def _check_numbers(seeds: int, first_seed: int) -> None:
    COUNT.check(seeds=seeds)
    SEED.check(first_seed=first_seed)
    SEED.check(last_seed=first_seed + seeds - 1)


def sharding_of(devices: int | None, seeds: int, batch_size: int) -> BatchSharding | None:
    """How batches are split over devices; without `devices`, the cores of a CPU share the seeds instead."""
    if devices is None:
        share_cores(seeds)
    return BatchSharding.over(devices, batch_size)


def check_fits(recipe: Recipe, *datasets: Dataset) -> None:
    """Refuse images or actions that the parts cannot have, and data without the long episodes that the recipe needs."""
    recipe.check_images(datasets[0].image)
    recipe.check_actions(shapes_of(datasets[0]).levels)
    for dataset in datasets:
        if recipe.request.midpoints and dataset.lengths.max() < 3:
            value = registry.name_of("value", recipe.value)
            raise DataError(f"{dataset.source}: no episode has more than one transition; value {value} needs a goal ahead.")


def check_same(description: Description, team: Team) -> None:
    """All processes must have equal descriptions, except for the paths of their files."""
    described = description.to_json()
    named = None if description.experiment.task.is_own else description.experiment.task.name
    described |= {"data": {**described["data"], "path": None}, "task": named}
    first, *others = (json.loads(message) for message in team.exchange(json.dumps(described)))
    for process, other in enumerate(others, 1):
        different = [entry for entry in first if other[entry] != first[entry]]
        if different:
            raise UsageError(
                f"process {process} has a different {different[0]} than process 0; "
                "give all processes the same options, except --process-id."
            )


def train_in(
    folder: RunFolder,
    description: Description,
    data: Dataset,
    validation: Dataset,
    state: State | None,
    workers: int | None,
    sharding: BatchSharding | None,
    trackers: Sequence[str],
) -> Path:
    """Train to the end of the schedule, with metrics, evaluations and checkpoints; returns the run's folder."""
    history = description.fitted.learning.history
    place = Mapped.of if description.experiment.data.out_of_core else on_device
    load = partial(place, normalization=description.normalization, history=history)
    rows = load(data)
    if sharding and isinstance(rows, Rows):
        rows = sharding.place(rows)
    graph = planner_of(description.experiment.schedule)
    places = Places.draw(graph, data, validation, history) if graph and description.task.simulated else None
    tracked = Tracking(trackers if Team().first else (), folder, description)
    session = Session(folder, description, rows, load(validation), workers, sharding, places, tracked)
    with session:
        session.run(state)
    return folder.path
