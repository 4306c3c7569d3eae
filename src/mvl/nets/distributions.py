"""Functions of normal distributions with unit variance, and weights of samples, for policies."""

import math

import jax
import jax.numpy as jnp
from jax import Array

from mvl.types import Key


def unit_normal_log_prob(mean: Array, actions: Array) -> Array:
    """log N(actions; mean, I), summed over the last axis."""
    size = actions.shape[-1]
    return -0.5 * jnp.square(actions - mean).sum(-1) - 0.5 * size * math.log(2 * math.pi)


def sample_unit_normal(key: Key, mean: Array, temperature: Array) -> Array:
    """A sample with the temperature as standard deviation; at 0, the mean."""
    return mean + temperature * jax.random.normal(key, mean.shape)


def bounded_normal(key: Key, mean: Array, temperature: Array) -> Array:
    """A sample as of `sample_unit_normal`, clipped to the range of actions, [-1, 1]."""
    return jnp.clip(sample_unit_normal(key, mean, temperature), -1, 1)


def exponential_weight(scores: Array) -> Array:
    """min(exp(score), 100): the weight of a logged action, bounded so that no sample dominates the loss."""
    return jnp.minimum(jnp.exp(scores), 100.0)
