"""Settings per task, from the published ones: OGBench's and TRL's tables of hyper-parameters, the paper's tables 5 and 6."""

from typing import Any, NamedTuple

from mvl.data.names import IMAGES, TaskName
from mvl.errors import UsageError
from mvl.types import Stream

# Goals the policy is trained on, by how the data was collected (OGBench; the paper's table 5 lists only the first).
_FUTURE = Stream(current=0.0, trajectory=1.0, random=0.0, geometric=False)
ACTOR_GOALS = {
    "navigate": _FUTURE,
    "play": _FUTURE,
    "noisy": _FUTURE,
    "": _FUTURE,  # a kitchen's demonstrations
    "stitch": Stream(current=0.0, trajectory=0.5, random=0.5, geometric=False),
    "explore": Stream(current=0.0, trajectory=0.0, random=1.0, geometric=False),
}

MANIPULATION = {"cube", "scene", "puzzle", "kitchen"}


class Alphas(NamedTuple):
    """Behavior-cloning coefficients of the policy gradient, by the value it climbs."""

    implicit_q: float
    contrastive: float
    quasimetric: float


# By family, by family and kind, or by kind of manipulation data: the first that is found.
ALPHAS = {
    "pointmaze": Alphas(0.003, 0.03, 0.0003),
    "antmaze-explore": Alphas(0.01, 0.003, 0.001),
    "antmaze": Alphas(0.3, 0.1, 0.003),
    "humanoidmaze": Alphas(0.1, 0.1, 0.001),
    "antsoccer": Alphas(0.1, 0.3, 0.003),
    "play": Alphas(1.0, 3.0, 0.3),
    "noisy": Alphas(0.03, 0.1, 0.03),
    "kitchen": Alphas(1.0, 3.0, 0.3),  # published for the contrastive value alone; it is that of play data, so are the others
}


class Transitive(NamedTuple):
    distance_power: float
    alpha: float


# TRL's; sizes it gives none for take the nearest one's, the kitchen the scene's. The reconstructions take the same coefficient.
TRANSITIVE = {
    "pointmaze": Transitive(0.7, 10.0),
    "antmaze": Transitive(0.0, 0.7),
    "humanoidmaze-medium": Transitive(0.0, 0.1),
    "humanoidmaze": Transitive(0.1, 0.1),
    "antsoccer": Transitive(0.5, 0.3),
    "cube-single": Transitive(0.7, 1.0),
    "cube": Transitive(1.0, 10.0),
    "scene": Transitive(1.0, 1.0),
    "puzzle-3x3": Transitive(0.5, 2.0),
    "puzzle": Transitive(2.0, 2.0),
    "kitchen": Transitive(1.0, 1.0),
}


def _find(table: dict[str, Any], task: TaskName) -> Any:
    keys = (f"{task.family}-{task.variant}", f"{task.family}-{task.kind}", task.family, task.kind)
    return next(table[key] for key in keys if key in table)


def part_settings(task: TaskName, value: str) -> dict[str, dict[str, Any]]:
    """Settings of single parts for a task, by the part's name; a policy gradient's depend on the value it climbs."""
    if task.family in IMAGES:
        raise UsageError(f"{task} has images and discrete actions, which no recipe learns from yet; choose another task.")
    size = 64 if task.family == "pointmaze" else 256
    wide_bottleneck = task.family == "pointmaze" or (task.family, task.variant) == ("antmaze", "large")
    transitive = _find(TRANSITIVE, task)
    alpha = getattr(_find(ALPHAS, task), value, transitive.alpha)
    subgoal_alpha = 10.0 if task.kind == "explore" else 3.0
    steps = 10 if task.family in MANIPULATION else 100 if task.family == "humanoidmaze" else 25
    return {
        "vib": {"size": size, "beta": 0.003 if wide_bottleneck else 0.001},
        "vip": {"size": size},
        "tra": {"size": size},
        "byol": {"size": size},
        "dual": {"size": size, "expectile": 0.7 if task.family in MANIPULATION else 0.9},
        "transitive": {"distance_power": transitive.distance_power},
        "gradient": {"alpha": alpha},
        "hierarchical": {"low_alpha": subgoal_alpha, "high_alpha": subgoal_alpha, "subgoal_steps": steps},
    }


def learning_settings(task: TaskName, value: str) -> dict[str, Any]:
    """Changes to `Learning` for a task: a longer horizon for long tasks, other actor goals for other data.

    Where no value says which random goals are worth going to, only goals that were reached are imitated.
    """
    far = task.family == "humanoidmaze" or task.variant == "giant"
    return {"discount": 0.995 if far else 0.99, "actor_goals": _FUTURE if value == "absent" else ACTOR_GOALS[task.kind]}
