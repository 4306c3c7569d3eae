"""Flow matching: imitation with a multimodal distribution of actions, for data in which the mean action would fail."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.checks import COUNT, check_settings
from mvl.nets.mlp import apply_mlp, init_mlp
from mvl.types import Key, Loss, Params, PolicyView, Shapes, ValueFunctions


@dataclass(frozen=True)
class Flow:
    """Mean of (v(s, z, x_t, t) - (a - x_0))^2, over dimensions too; x_0 ~ N(0, I), t ~ U[0, 1], x_t = (1 - t) x_0 + t a.

    Acting integrates v from a sample of x_0 with Euler steps; the temperature has no effect.
    """

    flow_steps: int = 10
    """Euler steps when acting."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of the velocity, each with layer normalization."""

    needs: ClassVar[frozenset[str]] = frozenset()
    request: ClassVar[BatchRequest] = BatchRequest()
    discrete: ClassVar[bool] = False
    chunks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, flow_steps=COUNT, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        inputs = shapes.observation + shapes.represented + shapes.outputs + 1
        return init_mlp(key, inputs, self.widths, shapes.outputs, norm=True)

    def loss(self, params: Params, value: ValueFunctions, batch: Batch, view: PolicyView, key: Key) -> Loss:
        start_key, time_key = jax.random.split(key)
        represented, actions = view.encode(batch.observations, batch.actor_goals.vectors), view.head.logged(batch)
        start = jax.random.normal(start_key, actions.shape)
        time = jax.random.uniform(time_key, (*actions.shape[:-1], 1))
        between = (1 - time) * start + time * actions
        velocity = apply_mlp(params, batch.observations, represented, between, time)
        error = view.head.mean(jnp.square(velocity - (actions - start)), batch)
        return error, {"error": error}

    def act(self, params: Params, states: Array, goals: Array, view: PolicyView, key: Key, temperature: Array) -> Array:
        represented = view.encode(states, goals)
        size = params.output.bias.shape[-1]
        actions = jax.random.normal(key, (*states.shape[:-1], size))
        for step in range(self.flow_steps):
            time = jnp.full((*states.shape[:-1], 1), step / self.flow_steps)
            actions = actions + apply_mlp(params, states, represented, actions, time) / self.flow_steps
        return view.head.in_steps(jnp.clip(actions, -1, 1))
