"""Settings per task, from OGBench's published ones (its table of hyper-parameters; the paper keeps them, tables 5 and 6)."""

from typing import Any

from mvl.data.goals import Stream
from mvl.data.names import TaskName

# Goals the policy is trained on, by how the data was collected (OGBench; the paper's table 5 lists only the first).
_FUTURE = Stream(current=0.0, trajectory=1.0, random=0.0, geometric=False)
ACTOR_GOALS = {
    "navigate": _FUTURE,
    "play": _FUTURE,
    "noisy": _FUTURE,
    "stitch": Stream(current=0.0, trajectory=0.5, random=0.5, geometric=False),
    "explore": Stream(current=0.0, trajectory=0.0, random=1.0, geometric=False),
}


def learning_settings(task: TaskName) -> dict[str, Any]:
    """Changes to `Learning` for a task: a longer horizon for long tasks, other actor goals for other data."""
    far = task.family == "humanoidmaze" or task.variant == "giant"
    return {"discount": 0.995 if far else 0.99, "actor_goals": ACTOR_GOALS[task.kind]}
