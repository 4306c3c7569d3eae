"""Run folders with an initial checkpoint and no training, for tests of pictures and measures."""

import json
from pathlib import Path

from conftest import small_recipe
from mvl.experiment import DataOptions, Experiment
from mvl.learn import checkpoint
from mvl.learn.learner import Learner
from mvl.learn.loop import initial_state
from mvl.recipes.presets import Schedule
from mvl.recipes.recipe import Recipe
from mvl.runs.folder import Description, RunFolder
from mvl.tasks import Task, find_task
from mvl.types import Shapes, Statistics

SHAPES = {"pointmaze": (2, 2, 2), "cube": (28, 5, 28), "puzzle": (55, 5, 55)}
MEDIUM = "pointmaze-medium-navigate-v0"


def untrained(
    path: Path,
    recipe: Recipe,
    *,
    task: str = MEDIUM,
    seeds: int = 1,
    simulated: bool = True,
    shapes=(2, 2, 2),
    name: str = "small",
    data: dict | None = None,
) -> Path:
    """A run with a checkpoint of step 0; `data` has further entries of its description's data."""
    data = {"path": None, "sha256": None, "action_range": None, **(data or {})}
    numbers, sizes = tuple(range(seeds)), Shapes(*shapes)
    about = find_task(task) if simulated else Task(data=Path(task))
    experiment = Experiment(about, recipe, Schedule(), name, None, numbers, DataOptions(out_of_core=False))
    description = Description(experiment, recipe, sizes, data)
    folder = RunFolder.create(path, description)
    checkpoint.save(folder.checkpoint_file, initial_state(Learner(recipe, sizes), numbers), {"sizes": {}})
    return path


def untrained_by_name(path: Path, task: str, recipe: str = "gcivl", simulated: bool = True) -> Path:
    """The same for a recipe's name, fitted to data with standard deviation 1 and steps of length 0.1."""
    shapes = SHAPES[task.split("-")[0]]
    made = small_recipe(recipe).fit(Statistics((1.0,) * shapes[0], 0.1, 0.1))
    return untrained(path, made, task=task, simulated=simulated, shapes=shapes, name=recipe)


def with_evaluations(run: Path, successes: dict[int, list[list[float]]]) -> Path:
    """Write evaluations into a run folder: step -> for each seed its success per task."""
    rows = [
        {"step": step, "seed": seed, "episodes": 1, "overall": sum(tasks) / len(tasks), "tasks": tasks, "mean_length": 1.0}
        for step, seeds in successes.items()
        for seed, tasks in enumerate(seeds)
    ]
    (run / "evaluations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return run
