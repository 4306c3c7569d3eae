"""Names of tasks, OGBench's and D4RL's kitchen, and what they are made of."""

from dataclasses import dataclass, replace

from mvl.errors import unknown

_MAZES, _NAVIGATION, _PLAY = ("medium", "large", "giant", "teleport"), ("navigate", "stitch"), ("play", "noisy")

# family: (variants, dataset types); `scene` has no variants, and of a kitchen there is one dataset each.
FAMILIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "pointmaze": (_MAZES, _NAVIGATION),
    "antmaze": (_MAZES, (*_NAVIGATION, "explore")),
    "humanoidmaze": (("medium", "large", "giant"), _NAVIGATION),
    "antsoccer": (("arena", "medium"), _NAVIGATION),
    "cube": (("single", "double", "triple", "quadruple"), _PLAY),
    "scene": (("",), _PLAY),
    "puzzle": (("3x3", "4x4", "4x5", "4x6"), _PLAY),
    "powderworld": (("easy", "medium", "hard"), ("play",)),
    "kitchen": (("partial", "mixed", "complete"), ("",)),
}
_ABSENT = {"antmaze-giant-explore-v0"}
_VERSIONS = {"kitchen": 2}
"""Of a family's datasets, where it is not 0."""
IMAGES = {"powderworld"}
"""Families of images and discrete actions."""
_NO_ORACLE = {"kitchen", *IMAGES}
"""Families whose goals nothing tells but a whole observation."""

# What is to be done in a kitchen, all of it in one episode (D4RL).
_WITH_CABINET = ("microwave", "kettle", "light switch", "slide cabinet")
SUBTASKS = {
    "partial": _WITH_CABINET,
    "mixed": ("microwave", "kettle", "bottom burner", "light switch"),
    "complete": _WITH_CABINET,
}


@dataclass(frozen=True)
class TaskName:
    """A task such as `pointmaze-medium-navigate-v0`."""

    family: str
    variant: str
    kind: str
    """How the data was collected: navigate, stitch, explore, play or noisy; empty for a kitchen, whose variant says it."""
    oracle: bool = False
    """Whether goals are told by an oracle (`-oraclerep`) instead of as whole observations."""

    def __str__(self) -> str:
        version = f"v{_VERSIONS.get(self.family, 0)}"
        return "-".join(filter(None, (self.family, self.variant, self.kind, "oraclerep" if self.oracle else "", version)))

    @property
    def subtasks(self) -> tuple[str, ...]:
        """What every episode is scored by, if by several things; empty where the task's goals are tried one by one."""
        return SUBTASKS[self.variant] if self.family == "kitchen" else ()

    @property
    def data(self) -> "TaskName":
        """The task whose files this one reads: the same without an oracle."""
        return replace(self, oracle=False)

    @classmethod
    def parse(cls, name: str) -> "TaskName":
        """The task of that name; the version (`-v0`) may be left out."""
        known = task_names()
        for full, task in known.items():
            if name in (full, full.rpartition("-")[0]):
                return task
        raise unknown("task", name, known)


def task_names() -> dict[str, TaskName]:
    """Every task by name: OGBench's with vectors as observations, Powderworld and the kitchens."""
    tasks = [
        TaskName(family, variant, kind, oracle)
        for oracle in (False, True)
        for family, (variants, kinds) in FAMILIES.items()
        if not (oracle and family in _NO_ORACLE)
        for variant in variants
        for kind in kinds
    ]
    return {str(task): task for task in tasks if str(task.data) not in _ABSENT}
