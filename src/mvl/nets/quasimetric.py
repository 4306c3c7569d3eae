"""Interval quasimetric embeddings (IQE): an asymmetric distance with d(u, u) = 0 and the triangle inequality."""

import jax
import jax.numpy as jnp
from jax import Array

GROUP = 8
"""Intervals per group."""


def union_length(left: Array, right: Array) -> Array:
    """Length of the union of the intervals [left_j, right_j] along the last axis, right_j >= left_j.

    Each interval adds the part that is to the right of all intervals that start before it. All pairs are compared, because
    sorting so few numbers is slow on every backend.
    """
    order = jnp.arange(left.shape[-1])
    one, other = left[..., :, None], left[..., None, :]
    before = (other < one) | ((other == one) & (order[None, :] < order[:, None]))  # (..., j, i): i starts before j
    reached = jnp.where(before, right[..., None, :], -jnp.inf).max(axis=-1)
    return jnp.maximum(right - jnp.maximum(left, reached), 0.0).sum(axis=-1)


def interval_distance(mix: Array, start: Array, end: Array) -> Array:
    """IQE distance from u = start to v = end, (...): per group the length of the union of [u_j, max(u_j, v_j)], then
    a trained combination of the groups' mean and maximum, with weight sigmoid(mix) on the mean."""
    start, end = jnp.broadcast_arrays(start, end)
    grouped = (*start.shape[:-1], -1, GROUP)
    left = start.reshape(grouped)
    lengths = union_length(left, jnp.maximum(left, end.reshape(grouped)))  # (..., groups)
    share = jax.nn.sigmoid(mix)
    return share * lengths.mean(axis=-1) + (1 - share) * lengths.max(axis=-1)
