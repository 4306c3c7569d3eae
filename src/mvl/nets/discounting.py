"""Discounted values as numbers of steps."""

import jax.numpy as jnp
from jax import Array


def steps_of_values(values: Array, discount: float) -> Array:
    """n with V = -(1 - discount^n) / (1 - discount), the value of a goal that is n steps of reward -1 away.

    Values outside of what such steps can have are clipped: to just below zero, and to just above the value of never arriving.
    """
    clipped = jnp.clip(values, -1 / (1 - discount) + 1e-3, -1e-3)
    return jnp.log1p((1 - discount) * clipped) / jnp.log(discount)
