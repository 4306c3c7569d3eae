"""No representation: the raw goal."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.types import Key, Loss, Params, Shapes


@dataclass(frozen=True)
class Identity:
    """z = g: the raw goal is the input of values and policies (the paper's ORIG)."""

    request: ClassVar[BatchRequest] = BatchRequest()
    shaped_by_value: ClassVar[bool] = False
    looks_at_state: ClassVar[bool] = False

    def width(self, goal: int) -> int:
        return goal

    def init(self, key: Key, shapes: Shapes) -> Params:
        return ()

    def targets(self, params: Params) -> Params:
        return ()

    def encode(self, params: Params, states: Array, goals: Array, key: Key) -> Array:
        return goals

    def loss(self, params: Params, targets: Params, batch: Batch, key: Key) -> Loss:
        return jnp.zeros(()), {}
