"""Train: from a task and a recipe to a run folder with an evaluated, resumable policy."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from types import FrameType
from typing import Any

import jax
import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.files import fingerprint
from mvl.data.goals import Rows, on_device
from mvl.data.names import TaskName
from mvl.data.sources import npz
from mvl.errors import MvlError, UsageError, unknown
from mvl.evaluation.environments import Environments
from mvl.evaluation.rollout import play
from mvl.learn import checkpoint
from mvl.learn.learner import Learner, State
from mvl.learn.loop import dispatches, initial_state, over_seeds
from mvl.recipes.presets import Schedule, named_recipe
from mvl.recipes.recipe import Recipe
from mvl.runs import metrics
from mvl.runs.display import TrainingDisplay
from mvl.runs.evaluation import as_act, batched_act, cores, rows
from mvl.runs.folder import Description, RunFolder
from mvl.types import Shapes


class InterruptedTrainingError(MvlError):
    """Training was stopped by Ctrl-C, after saving."""

    exit_code = 130


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
    workers: int | None = None,
    **changes: Any,
) -> Path:
    """Train a recipe and return the run's folder.

    `task` is an OGBench task, the path of an .npz file, or a Dataset. `changes` replaces parts of the recipe
    (`regularizer=mvl.Mollified(weight=10)`) and settings of the schedule and the learning (`steps`, `batch_size`, ...).
    """
    name = None if isinstance(task, Dataset) or is_file(task) else TaskName.parse(str(task))
    made, schedule = _planned(recipe, preset, name, changes)
    path = _data_path(task, name, data)
    train_data, validation = _load(task, path, held_out)
    description = Description(
        task=str(name or path or "arrays"),
        simulated=name is not None,
        recipe_name=recipe if isinstance(recipe, str) else "custom",
        recipe=made,
        fitted=made.fit(train_data.statistics),
        schedule=schedule,
        seeds=list(range(first_seed, first_seed + seeds)),
        shapes=shapes_of(train_data),
        data=_origin(path, held_out),
    )
    target = Path(run) if run else Path("runs") / f"{name or 'data'}-{description.recipe_name}"
    folder = RunFolder.create(target, description)
    with folder.claimed():
        return _run(folder, description, train_data, validation, None, workers)


def resume(run: Path | str, steps: int | None = None, data: Dataset | None = None, workers: int | None = None) -> Path:
    """Continue a run from its last checkpoint, exactly; `steps` may lengthen it."""
    folder, description = RunFolder.open(Path(run))
    with folder.claimed():
        if steps is not None and steps != description.schedule.steps:
            description = replace(description, schedule=replace(description.schedule, steps=steps))
            folder.describe(description)
        train_data, validation = _same_data(description, data, run)
        state = notes = None
        if folder.checkpoint_file.exists():
            learner = Learner(description.fitted, description.shapes)
            like = jax.eval_shape(lambda: initial_state(learner, description.seeds))
            state, notes = checkpoint.load(folder.checkpoint_file, like)
        for file in (folder.metrics_file, folder.evaluations_file):
            metrics.cut(file, notes["sizes"][file.name] if notes else 0)
        return _run(folder, description, train_data, validation, state, workers)


def _same_data(description: Description, given: Dataset | None, run: Path | str) -> tuple[Dataset, Dataset]:
    """The data a run was trained on; anything else is refused."""
    origin = description.data
    path = Path(origin["path"]) if origin["path"] else None
    if path is None and given is None:
        raise UsageError(f"{run} was trained on arrays; continue it from Python, with the same data.")
    if path is not None and (not path.exists() or fingerprint(path) != origin["sha256"]):
        raise MvlError(f"{path} is not the file {run} was trained on; put that file back to continue.")
    return _load(given or Path(), path, origin["held_out"])


def is_file(task: str | Path) -> bool:
    return isinstance(task, Path) or str(task).endswith(".npz")


def shapes_of(dataset: Dataset) -> Shapes:
    width = dataset.observations.shape[1]
    return Shapes(observation=width, action=dataset.actions.shape[1], goal=width)


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


def _load(given: str | Path | Dataset, path: Path | None, held_out: float | None) -> tuple[Dataset, Dataset]:
    if isinstance(given, Dataset):
        return given.split(held_out or 0.1)
    assert path is not None
    return npz.load_pair(path, held_out)


def _origin(path: Path | None, held_out: float | None) -> dict[str, Any]:
    where = {"path": str(path.resolve()), "sha256": fingerprint(path)} if path else {"path": None, "sha256": None}
    return {**where, "held_out": held_out}


@contextmanager
def catching_interrupts() -> Iterator[list[int]]:
    """Ctrl-C is noted instead of raised, so that a step is never cut in half; a second one ends at once."""
    caught: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread: whoever is decides
        yield caught
        return
    try:
        yield caught
    finally:
        signal.signal(signal.SIGINT, before)


def _run(
    folder: RunFolder, description: Description, data: Dataset, validation: Dataset, state: State | None, workers: int | None
) -> Path:
    """Train to the end of the schedule: metrics, evaluations and checkpoints on the way."""
    session = _Session(folder, description, on_device(data), on_device(validation), workers)
    with session:
        session.go(state)
    return folder.path


class _Session:
    """One process's work on a run."""

    def __init__(self, folder: RunFolder, description: Description, data: Rows, validation: Rows, workers: int | None) -> None:
        self.folder, self.description, self.schedule = folder, description, description.schedule
        self.data, self.validation = data, validation
        self.learner = Learner(description.fitted, description.shapes)
        self.seeds = description.seeds
        self.environments = Environments(description.task, workers or cores()) if description.simulated else nullcontext()
        self.act = batched_act(self.learner, len(self.seeds), self.schedule.eval_temperature)
        self.validate = jax.jit(over_seeds(self._validation_loss, len(self.seeds), shared=1))

    def __enter__(self) -> None:
        self.environments.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self.environments.__exit__(*exception)

    def go(self, state: State | None) -> None:
        schedule = self.schedule
        first = initial_state(self.learner, self.seeds) if state is None else state
        start = int(first.step[0])
        title = f"{self.description.task} {self.description.recipe_name}"
        self.display = TrainingDisplay(title, schedule.steps, start, self.seeds)
        with catching_interrupts() as interrupted, self.display.running():
            began, busy, counted = time.monotonic(), 0.0, 0
            for state, columns in dispatches(self.learner, first, self.data, schedule.steps, schedule.steps_per_dispatch):
                step = int(state.step[0])
                if step > start + schedule.steps_per_dispatch:  # the first call compiles, and says nothing about speed
                    busy, counted = busy + time.monotonic() - began, counted + schedule.steps_per_dispatch
                stopping = bool(interrupted)
                self._after(state, step, columns, counted / busy if counted else 0.0, stopping)
                if stopping and step < schedule.steps:
                    raise InterruptedTrainingError(
                        f"stopped at step {step} and saved; continue with: mvl train --resume {self.folder.path}"
                    )
                began = time.monotonic()

    def _after(self, state: State, step: int, columns: dict[str, np.ndarray], speed: float, stopping: bool) -> None:
        """What is due after a dispatch."""
        schedule, last = self.schedule, step == self.schedule.steps
        self.display.advance(step, speed)
        if last or step % schedule.log_every == 0:
            found = metrics.mean_rows(columns, self.seeds, step)
            self._write(self.folder.metrics_file, found)
            metrics.append(
                self.folder.timing_file, {"step": step, "steps_per_second": round(speed, 2), "time": round(time.time(), 1)}
            )
            self.display.measured(found)
        if last or step % schedule.eval_every == 0:
            self._evaluate(state, step, speed)
        if last or stopping or step % schedule.save_every == 0:
            self._save(state)

    def _write(self, path: Path, found: list[dict[str, Any]]) -> None:
        for row in found:
            metrics.append(path, row)

    def _evaluate(self, state: State, step: int, speed: float) -> None:
        """Losses on validation data; success in the environment where there is one."""
        losses = {name: np.asarray(column)[:, None] for name, column in self.validate(state, self.validation).items()}
        losses = {f"validation/{name}": column for name, column in losses.items()}
        found = metrics.mean_rows(losses, self.seeds, step)
        if isinstance(self.environments, Environments):
            self.display.advance(step, speed, "evaluating")
            act = as_act(self.act, state.params)
            played = play(act, self.environments, len(self.seeds), self.schedule.eval_episodes, (0, step))
            found = [{**row, **more} for row, more in zip(rows(played, self.seeds, step), found, strict=True)]
            self.display.evaluated(found)
        self._write(self.folder.evaluations_file, found)

    def _validation_loss(self, state: State, data: Rows) -> dict[str, Any]:
        key = jax.random.fold_in(jax.random.key(state.seed), state.step)
        batch = self.learner.sample(data, key)
        return self.learner.loss(state.params, state.targets, batch, key)[1]

    def _save(self, state: State) -> None:
        files = (self.folder.metrics_file, self.folder.evaluations_file)
        checkpoint.save(self.folder.checkpoint_file, state, {"sizes": {file.name: metrics.size(file) for file in files}})
