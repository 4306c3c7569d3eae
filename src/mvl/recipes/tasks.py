"""Settings per task, from OGBench's published ones (its table of hyper-parameters; the paper keeps them, tables 5 and 6)."""

from typing import Any

from mvl.data.names import TaskName
from mvl.types import Stream

# Goals the policy is trained on, by how the data was collected (OGBench; the paper's table 5 lists only the first).
_FUTURE = Stream(current=0.0, trajectory=1.0, random=0.0, geometric=False)
ACTOR_GOALS = {
    "navigate": _FUTURE,
    "play": _FUTURE,
    "noisy": _FUTURE,
    "stitch": Stream(current=0.0, trajectory=0.5, random=0.5, geometric=False),
    "explore": Stream(current=0.0, trajectory=0.0, random=1.0, geometric=False),
}


MANIPULATION = {"cube", "scene", "puzzle"}


def part_settings(task: TaskName) -> dict[str, dict[str, Any]]:
    """Settings of single parts for a task, by the part's name (the paper's tables 5 and 6)."""
    size = 64 if task.family == "pointmaze" else 256
    wide_bottleneck = task.family == "pointmaze" or (task.family, task.variant) == ("antmaze", "large")
    return {
        "vib": {"size": size, "beta": 0.003 if wide_bottleneck else 0.001},
        "vip": {"size": size},
        "tra": {"size": size},
        "byol": {"size": size},
        "dual": {"size": size, "expectile": 0.7 if task.family in MANIPULATION else 0.9},
    }


def learning_settings(task: TaskName) -> dict[str, Any]:
    """Changes to `Learning` for a task: a longer horizon for long tasks, other actor goals for other data."""
    far = task.family == "humanoidmaze" or task.variant == "giant"
    return {"discount": 0.995 if far else 0.99, "actor_goals": ACTOR_GOALS[task.kind]}
