"""A step of Adam for all parameters, and of their slowly moving copies, in one pass and in place."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mvl.kernels.calls import call


def adam(
    rates: Array, gradients: Any, parameters: Any, means: Any, squares: Any, copies: Any, places: list[int]
) -> tuple[Any, ...]:
    """New (parameters, means, squares, copies) for rates (beta_1, beta_2, epsilon, follow, step, correction).

    `step` is the learning rate over 1 - beta_1^t and `correction` is 1 / (1 - beta_2^t). The copy of parameter i is that at
    places[i], or -1 for none; it moves by `follow` towards the parameter from before the step.
    """
    trees = (parameters, means, squares, copies)
    flat = [leaf for tree in trees for leaf in jax.tree.leaves(tree)]
    shift = 1 + len(jax.tree.leaves(gradients))
    made = call(
        "mvl_adam",
        [leaf.shape for leaf in flat],
        rates,
        *jax.tree.leaves(gradients),
        *flat,
        aliases={shift + i: i for i in range(len(flat))},
        copies=np.asarray(places, np.int64),
    )
    sizes = np.cumsum([len(jax.tree.leaves(tree)) for tree in trees])
    parts = [made[end - len(jax.tree.leaves(tree)) : end] for tree, end in zip(trees, sizes, strict=True)]
    return tuple(jax.tree.unflatten(jax.tree.structure(tree), part) for tree, part in zip(trees, parts, strict=True))
