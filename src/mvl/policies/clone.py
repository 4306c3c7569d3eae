"""Behavior cloning: imitate the actions of the data on the way to the goal."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.checks import COUNT, check_settings
from mvl.nets.distributions import bounded_normal, unit_normal_log_prob
from mvl.nets.mlp import apply_mlp, init_mlp, small
from mvl.types import GoalView, Key, Loss, Params, Shapes, ValueFunctions


@dataclass(frozen=True)
class Clone:
    """-mean log pi(a | s, z), with pi a normal distribution of unit variance; uses no value."""

    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of the policy."""

    needs: ClassVar[frozenset[str]] = frozenset()
    request: ClassVar[BatchRequest] = BatchRequest()

    def __post_init__(self) -> None:
        check_settings(self, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        inputs = shapes.observation + shapes.represented
        return init_mlp(key, inputs, self.widths, shapes.action, norm=False, final=small)

    def loss(self, params: Params, value: ValueFunctions, batch: Batch, view: GoalView, key: Key) -> Loss:
        mean = apply_mlp(params, batch.observations, view.encode(batch.observations, batch.actor_goals.vectors))
        error = jnp.square(mean - batch.actions).mean()
        return -unit_normal_log_prob(mean, batch.actions).mean(), {"error": error}

    def act(self, params: Params, states: Array, goals: Array, view: GoalView, key: Key, temperature: Array) -> Array:
        """A sample at the given temperature, clipped to the action range; at 0, the mean."""
        return bounded_normal(key, apply_mlp(params, states, view.encode(states, goals)), temperature)
