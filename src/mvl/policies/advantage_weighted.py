"""Advantage-weighted regression: imitation in which actions with a high advantage weigh more."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.checks import COUNT, NOT_NEGATIVE, check_settings
from mvl.nets.distributions import bounded_normal, exponential_weight, unit_normal_log_prob
from mvl.nets.mlp import apply_mlp, init_mlp, small
from mvl.types import GoalView, Key, Loss, Params, Shapes, ValueFunctions


@dataclass(frozen=True)
class AdvantageWeighted:
    """-mean min(exp(alpha A), 100) log pi(a | s, z), with pi a normal distribution of unit variance."""

    alpha: float = 10.0
    """Inverse temperature: the larger, the more actions with a high advantage are preferred."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of the policy."""

    needs: ClassVar[frozenset[str]] = frozenset({"advantage"})
    request: ClassVar[BatchRequest] = BatchRequest()

    def __post_init__(self) -> None:
        check_settings(self, alpha=NOT_NEGATIVE, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        inputs = shapes.observation + shapes.represented
        return init_mlp(key, inputs, self.widths, shapes.action, norm=False, final=small)

    def loss(self, params: Params, value: ValueFunctions, batch: Batch, view: GoalView, key: Key) -> Loss:
        assert value.advantage is not None, "the recipe checks that the value offers an advantage"
        goals = batch.actor_goals.vectors
        weight = exponential_weight(self.alpha * value.advantage(batch, goals, view.encode))
        mean = apply_mlp(params, batch.observations, view.encode(batch.observations, goals))
        log_prob = unit_normal_log_prob(mean, batch.actions)
        error = jnp.square(mean - batch.actions).mean()
        return -(weight * log_prob).mean(), {"weight": weight.mean(), "error": error}

    def act(self, params: Params, states: Array, goals: Array, view: GoalView, key: Key, temperature: Array) -> Array:
        """A sample at the given temperature, clipped to the action range; at 0, the mean."""
        return bounded_normal(key, apply_mlp(params, states, view.encode(states, goals)), temperature)
