"""What others are told of a policy: where it is from, and what its actions mean."""

from pathlib import Path
from typing import Any

from mvl.runs.folder import Description


def action_dimensions(description: Description) -> int:
    """Dimensions of an action of the source."""
    return len(description.shapes.levels) or description.shapes.action


def about_policy(run: Path, description: Description) -> dict[str, Any]:
    """Run, task, recipe, names, units, rate, and sizes and ranges of actions."""
    units, signals, size = description.action_units, description.inputs.signals, action_dimensions(description)
    return {
        "run": run.resolve().name,
        "task": description.experiment.task.label,
        "recipe": description.experiment.recipe_name,
        "action_size": size,
        "action_range": units.limits or ((-1.0,) * size, (1.0,) * size),
        "action_levels": units.levels,
        "signals": signals and signals.to_json(),
        "hz": signals and signals.hz,
    }
