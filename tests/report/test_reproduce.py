"""The command a report gives makes the same recipe and schedule again."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from mvl.cli import train as command_line
from mvl.data.names import TaskName
from mvl.recipes.presets import Schedule, named_recipe
from mvl.recipes.recipe import Recipe
from mvl.report.reproduce import command, recipe_name
from mvl.runs.folder import Description
from mvl.runs.training import _planned
from mvl.types import Shapes, Stream

TASK = "antmaze-large-navigate-v0"


def described(recipe: Recipe, schedule: Schedule, task: str = TASK, seeds: tuple[int, ...] = (0,), **data) -> Description:
    origin = {"path": f"/data/{task}.npz", "sha256": "0" * 64, "held_out": None, "mapped": False, "action_range": None, **data}
    simulated = not task.endswith(".npz")
    return Description(task, simulated, "any", recipe, recipe, schedule, list(seeds), Shapes(2, 2, 2), origin)


def understood(words: str) -> tuple[Recipe, Schedule]:
    """What `mvl train` makes of a command."""
    task, *rest = shlex.split(words)[2:]
    options, settings = command_line.parser().parse_known_args(rest)
    changes = command_line._settings(options, task, settings)
    name = None if task.endswith(".npz") else TaskName.parse(task)
    return _planned(options.recipe, options.preset, name, changes)


def written_out(recipe: Recipe) -> Recipe:
    return replace(recipe, learning=replace(recipe.learning, value_goals=recipe.value_goals))


@pytest.mark.parametrize("preset", ["cpu", "paper"])
@pytest.mark.parametrize("name", ["gcivl", "dual-mvl", "hiql-eik", "trl", "bc"])
def test_a_named_recipe_needs_its_name_alone(name, preset):
    recipe, schedule = named_recipe(name, preset, TaskName.parse(TASK))
    words = command(described(recipe, schedule))
    assert words == f"mvl train {TASK} --recipe {name} --preset {preset} --seeds 1"


def test_changes_are_flags():
    recipe, schedule = named_recipe("trl-mvl", "cpu", TaskName.parse(TASK))
    goals = Stream(current=0.0, trajectory=0.5, random=0.5, geometric=False)
    recipe = replace(
        recipe,
        regularizer=replace(recipe.regularizer, weight=2.5, cost="auto", antithetic=not recipe.regularizer.antithetic),
        policy=replace(recipe.policy, norm=not recipe.policy.norm, widths=(8, 9)),
        learning=replace(recipe.learning, discount=0.9, actor_goals=goals),
    )
    words = command(described(recipe, replace(schedule, steps=700), seeds=(3, 4)))
    assert words is not None
    assert "--seeds 2 --first-seed 3" in words
    again, when = understood(words)
    assert written_out(again) == written_out(recipe)
    assert when == replace(schedule, steps=700)


def test_parts_without_a_name_are_named_one_by_one():
    recipe, schedule = named_recipe("gcivl", "cpu", TaskName.parse(TASK), {"policy": "hierarchical", "representation": "dual"})
    assert recipe_name(recipe) == "hiql-dual"
    odd, _ = named_recipe("gciql", "cpu", TaskName.parse(TASK), {"policy": "advantage_weighted"})
    assert recipe_name(odd) is None
    words = command(described(odd, schedule))
    assert words is not None
    assert written_out(understood(words)[0]) == written_out(odd)


def test_own_data_is_told_by_its_file_alone():
    recipe, schedule = named_recipe("gcivl", "cpu")
    words = command(described(recipe, schedule, task=str(Path("/somewhere/my demos.npz")), held_out=0.2))
    assert words == "mvl train 'my demos.npz' --recipe gcivl --preset cpu --seeds 1 --held-out 0.2"
    assert command(described(recipe, schedule, task="arrays.npz", path=None)) is None
