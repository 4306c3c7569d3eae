"""Work of a training step and time of an episode, from settings alone: for estimates before anything is measured."""

from itertools import pairwise
from math import prod
from typing import Any

from mvl import registry
from mvl.experiment import Experiment
from mvl.tasks import Task
from mvl.types import EncodesImages, ImageShape

PASSES = {
    **{"identity": 0.0, "subgoal": 8.0, "vib": 15.5, "vip": 21.5, "tra": 27.5, "dual": 39.0, "byol": 43.0},
    **{"none": 0.0, "mollified": 5.8, "eikonal": 23.5, "slope": 11.7},
    **{"absent": 0.0, "implicit_v": 14.0, "implicit_q": 12.0, "contrastive": 27.5, "quasimetric": 21.0, "transitive": 10.0},
    **{"subgoal_tree": 4.0, "compositional": 5.0, "discrete_q": 4.0},
    "impala": 10.0,
    **{"advantage_weighted": 3.0, "clone": 3.0, "flow": 3.0, "gradient": 7.0, "greedy": 0.0, "hierarchical": 13.0},
}
"""Work of each part in a step, in passes of the whole batch through one network; counted from traced steps of width 512.

An encoder's are passes through it: in early fusion value and policy 6, targets 2, advantages 2."""
PASSES_OF_OTHERS = 10.0
"""Assumed for a part that is not listed, such as one of the user's own."""
MULTIPLIERS = ("samples", "pairs", "fraction", "subgoals")
"""Settings that the work of a part is proportional to."""
SHARE_OF_RATE = 0.8
"""Share of the rate of matrix products that a step reaches on a CPU: measured from 0.73 to 0.94 (docs/speed.md)."""
SECONDS_OF_OTHERS = 2.0
"""Assumed for an episode of a task that does not say how long one takes."""


def work(experiment: Experiment, observation: int, image: ImageShape | None = None) -> float:
    """Floating-point operations of a training step of one seed, roughly.

    `observation` is the length of an observation, `image` its shape if it is an image.
    """
    recipe = experiment.recipe
    encoder, inputs = recipe.encoder, 2 * observation * recipe.learning.history
    usual: tuple[int, ...] = getattr(recipe.value, "widths", getattr(recipe.policy, "widths", ()))
    found = 0.0
    if isinstance(encoder, EncodesImages) and image:
        inputs = encoder.size
        name = registry.name_of("encoder", encoder)
        found += PASSES.get(name, PASSES_OF_OTHERS) * encoder.operations((*image[:2], 2 * image[2]))
    for axis, name in recipe.names().items():
        if axis == "encoder":
            continue
        part: Any = getattr(recipe, axis)
        passes = PASSES.get(name, PASSES_OF_OTHERS) * prod(getattr(part, setting, 1) for setting in MULTIPLIERS)
        sizes: list[int] = [inputs, *getattr(part, "widths", usual)]
        found += passes * sum(2.0 * before * after for before, after in pairwise(sizes))
    return recipe.learning.batch_size * found


def family(task: str) -> str:
    """The first word of a task's name, which tasks with similar environments share."""
    return task.partition("-")[0]


def episode_seconds(task: Task) -> float:
    """Seconds of an episode of full length, roughly."""
    return SECONDS_OF_OTHERS if task.episode_seconds is None else task.episode_seconds
