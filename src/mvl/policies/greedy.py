"""The action at which the critic is largest: no network of its own, for data with one discrete action dimension."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.types import Key, Loss, Params, PolicyView, Shapes, ValueFunctions


@dataclass(frozen=True)
class Greedy:
    """argmax_a min_e Q_e(s, a, z) over all discrete actions; has no parameters and no loss.

    At a temperature T above 0, a draw from softmax(min_e Q_e / T).
    """

    needs: ClassVar[frozenset[str]] = frozenset({"critic"})
    request: ClassVar[BatchRequest] = BatchRequest()
    discrete: ClassVar[bool] = True
    chunks: ClassVar[bool] = False
    compares_actions: ClassVar[bool] = True

    def init(self, key: Key, shapes: Shapes) -> Params:
        return ()

    def loss(self, params: Params, value: ValueFunctions, batch: Batch, view: PolicyView, key: Key) -> Loss:
        return jnp.zeros(()), {}

    def act(self, params: Params, states: Array, goals: Array, view: PolicyView, key: Key, temperature: Array) -> Array:
        assert view.value.critic is not None, "the recipe checks that the value offers a critic"
        every = view.head.every_action()  # (n, a)
        represented = view.encode(states, goals)[..., None, :]
        worth = view.value.critic(states[..., None, :], every, represented).min(axis=0)  # (..., n)
        return every[(worth + temperature * jax.random.gumbel(key, worth.shape)).argmax(axis=-1)]
