"""Sums of losses, and the advantage of a chunk of actions."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch
from mvl.types import Encode, Loss


def combine(losses: dict[str, Loss]) -> Loss:
    """The sum of the losses; names of metrics begin with the name of their part."""
    metrics = {f"{part}/loss": loss for part, (loss, _) in losses.items()}
    for part, (_, own) in losses.items():
        metrics |= {f"{part}/{name}": value for name, value in own.items()}
    return sum((loss for loss, _ in losses.values()), jnp.zeros(())), metrics


def add(losses: list[Loss]) -> Loss:
    """The sum of losses that have the same metrics, and the mean of those metrics."""
    total = sum((loss for loss, _ in losses), jnp.zeros(()))
    return total, {name: jnp.stack([metrics[name] for _, metrics in losses]).mean() for name in losses[0][1]}


def chunk_advantage(state_value: Callable[..., Array], batch: Batch, goals: Array, encode: Encode) -> Array:
    """V(s_{t+h}, z) - V(s_t, z), heads averaged: how much the logged chunk of h actions raised the value."""
    assert batch.chunk is not None, "requested by the recipe"
    states = jnp.stack([batch.observations, batch.chunk.after])
    values = state_value(states, encode(states, goals))  # (heads, 2, batch)
    return (values[:, 1] - values[:, 0]).mean(axis=0)
