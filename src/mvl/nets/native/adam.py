"""An Adam step of all parameters and an update of their target networks, in one pass and in place."""

from typing import Any

import jax
import numpy as np
from jax import Array

from mvl.nets.native.calls import call


def adam(
    rates: Array, gradients: Any, parameters: Any, means: Any, squares: Any, copies: Any, places: list[int]
) -> tuple[Any, ...]:
    """New (parameters, means, squares, copies), given rates (beta_1, beta_2, epsilon, follow, step, correction).

    `step` is the learning rate over 1 - beta_1^t and `correction` is 1 / (1 - beta_2^t). `copies` are the target networks:
    leaf places[i] is that of parameter i (-1: it has none) and moves by the share `follow` towards its value before the step.
    """
    trees = (parameters, means, squares, copies)
    given, moving = jax.tree.leaves(gradients), jax.tree.leaves(trees)
    aliases = {1 + len(given) + i: i for i in range(len(moving))}
    shapes = [leaf.shape for leaf in moving]
    made = call("mvl_adam", shapes, rates, *given, *moving, aliases=aliases, copies=np.asarray(places, np.int64))
    updated: tuple[Any, ...] = jax.tree.unflatten(jax.tree.structure(trees), made)
    return updated
