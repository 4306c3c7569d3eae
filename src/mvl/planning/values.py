"""The learned value as a planner asks it: steps between many pairs of states and goals."""

from math import prod

import jax
import numpy as np

from mvl.learn.learner import Learner, Parameters
from mvl.planning.roadmap import Steps

ROWS = 256_000
"""Pairs per compiled call, which bounds its memory."""


def steps_function(learner: Learner, params: Parameters) -> Steps:
    """Steps of the value of one seed. The leading axis is padded to a power of two, so that few shapes are compiled."""
    compiled = jax.jit(learner.steps_to_go)
    key = jax.random.key(0)

    def steps(observations: np.ndarray, goals: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(observations.shape[:-1], goals.shape[:-1])
        size = min(_power_of_two(shape[0]), max(1, ROWS // prod(shape[1:])))
        blocks = [
            compiled(params, _block(observations, first, size), _block(goals, first, size), key)
            for first in range(0, shape[0], size)
        ]
        return np.concatenate([np.asarray(block) for block in blocks])[: shape[0]]

    return steps


def _power_of_two(count: int) -> int:
    return 1 << max(count - 1, 0).bit_length()


def _block(array: np.ndarray, first: int, size: int) -> np.ndarray:
    """Rows from `first` on, the last one repeated if there are too few; an axis to be broadcast stays as it is."""
    if len(array) == 1:
        return array
    return array[np.minimum(np.arange(first, first + size), len(array) - 1)]
