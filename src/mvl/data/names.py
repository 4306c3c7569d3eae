"""Names of OGBench tasks, and what they are made of."""

from dataclasses import dataclass, replace

from mvl.errors import unknown

_MAZES, _NAVIGATION, _PLAY = ("medium", "large", "giant", "teleport"), ("navigate", "stitch"), ("play", "noisy")

# family: (variants, dataset types); `scene` has no variants.
FAMILIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "pointmaze": (_MAZES, _NAVIGATION),
    "antmaze": (_MAZES, (*_NAVIGATION, "explore")),
    "humanoidmaze": (("medium", "large", "giant"), _NAVIGATION),
    "antsoccer": (("arena", "medium"), _NAVIGATION),
    "cube": (("single", "double", "triple", "quadruple"), _PLAY),
    "scene": (("",), _PLAY),
    "puzzle": (("3x3", "4x4", "4x5", "4x6"), _PLAY),
    "powderworld": (("easy", "medium", "hard"), ("play",)),
}
_ABSENT = {"antmaze-giant-explore-v0"}
IMAGES = {"powderworld"}
"""Families of images and discrete actions. Their goals are whole images: they have no oracle."""


@dataclass(frozen=True)
class TaskName:
    """A task such as `pointmaze-medium-navigate-v0`."""

    family: str
    variant: str
    kind: str
    """How the data was collected: navigate, stitch, explore, play or noisy."""
    oracle: bool = False
    """Whether goals are told by an oracle (`-oraclerep`) instead of as whole observations."""

    def __str__(self) -> str:
        return "-".join(filter(None, (self.family, self.variant, self.kind, "oraclerep" if self.oracle else "", "v0")))

    @property
    def data(self) -> "TaskName":
        """The task whose files this one reads: the same without an oracle."""
        return replace(self, oracle=False)

    @classmethod
    def parse(cls, name: str) -> "TaskName":
        """The task of that name; `-v0` may be left out."""
        known = task_names()
        full = name if name.endswith("-v0") else f"{name}-v0"
        if full not in known:
            raise unknown("task", name, known)
        return known[full]


def task_names() -> dict[str, TaskName]:
    """Every task by name: those of OGBench with vectors as observations, and Powderworld."""
    tasks = [
        TaskName(family, variant, kind, oracle)
        for oracle in (False, True)
        for family, (variants, kinds) in FAMILIES.items()
        for variant in variants
        for kind in kinds
    ]
    told = [task for task in tasks if not (task.oracle and task.family in IMAGES)]
    return {str(task): task for task in told if str(task.data) not in _ABSENT}
