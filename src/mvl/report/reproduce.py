"""How a run can be made again: its recipe's name, and the command."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mvl import registry
from mvl.data.names import TaskName
from mvl.recipes.families import RECIPES, Names
from mvl.recipes.presets import PRESETS, named_recipe
from mvl.recipes.recipe import Recipe
from mvl.recipes.settings import defaults, flags, plain, text
from mvl.runs.folder import Description


def recipe_name(recipe: Recipe) -> str | None:
    """What a recipe of these parts is called, whatever its settings."""
    parts = Names(**{axis: registry.name_of(axis, getattr(recipe, axis)) for axis in Names._fields})
    return next((name for name, (_, named) in RECIPES.items() if named == parts), None)


def command(description: Description) -> str | None:
    """The `mvl train` that repeats a run; nothing if its data was never in a file."""
    if description.data["path"] is None:
        return None
    task = description.task if description.simulated else Path(description.task).name
    name = recipe_name(description.recipe)
    words = ["mvl", "train", task, "--recipe", name or "gcivl"]
    swapped: dict[str, str] = {}
    if name is None:
        swapped = {axis: registry.name_of(axis, getattr(description.recipe, axis)) for axis in registry.AXES}
        words += [word for axis, part in swapped.items() for word in (f"--{axis}", part)]
    preset, changes = min(
        ((preset, _flags(description, name or "gcivl", preset, swapped)) for preset in PRESETS), key=lambda pair: len(pair[1])
    )
    words += ["--preset", preset, "--seeds", str(len(description.seeds))]
    words += ["--first-seed", str(description.seeds[0])] if description.seeds[0] else []
    held_out = description.data["held_out"]
    words += ["--held-out", str(held_out)] if held_out is not None else []
    return shlex.join([*words, *changes])


def _flags(description: Description, name: str, preset: str, swapped: dict[str, str]) -> list[str]:
    """What has to be said beyond a preset."""
    task = TaskName.parse(description.task) if description.simulated else None
    recipe, schedule = named_recipe(name, preset, task, swapped)
    asked = _settings(description.recipe) | flat(asdict(description.schedule))
    usual = _settings(recipe) | flat(asdict(schedule))
    changes = {key: text(value) for key, value in asked.items() if value != usual.get(key)}
    return flags(defaults(name, preset, task, swapped)(), changes)


def _settings(recipe: Recipe) -> dict[str, Any]:
    parts = {axis: asdict(getattr(recipe, axis)) for axis in registry.AXES}
    return flat({**parts, **asdict(plain(recipe).learning)})


def flat(settings: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Nested settings by dotted names."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        value = value._asdict() if hasattr(value, "_asdict") else value
        found |= flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return found
