"""Run folders whose policy has learned nothing: enough to play, record and show."""

from pathlib import Path

from conftest import small_recipe
from mvl.learn import checkpoint
from mvl.learn.learner import Learner
from mvl.learn.loop import initial_state
from mvl.recipes.presets import named_recipe
from mvl.runs.folder import Description, RunFolder
from mvl.types import Shapes, Statistics

SHAPES = {"pointmaze": Shapes(2, 2, 2), "cube": Shapes(28, 5, 28), "puzzle": Shapes(55, 5, 55)}


def untrained(path: Path, task: str, recipe: str = "gcivl", simulated: bool = True) -> Path:
    """A run of that task, as it is before the first step."""
    shapes, made = SHAPES[task.split("-")[0]], small_recipe(recipe)
    fitted = made.fit(Statistics((1.0,) * shapes.observation, 0.1, 0.1))
    schedule = named_recipe(recipe, "cpu")[1]
    description = Description(task, simulated, recipe, made, fitted, schedule, [0], shapes, {"path": None})
    folder = RunFolder.create(path, description)
    checkpoint.save(folder.checkpoint_file, initial_state(Learner(fitted, shapes), [0]), {})
    return path
