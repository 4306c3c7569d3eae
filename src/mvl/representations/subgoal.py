"""HIQL's sub-goal representation: an embedding of state and goal together, on a sphere."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.checks import COUNT, check_settings
from mvl.nets.mlp import apply_mlp, init_mlp
from mvl.types import Key, Loss, Params, Shapes


@dataclass(frozen=True)
class Subgoal:
    """z = sqrt(N) phi([s; g]) / |phi([s; g])|, trained only by the value loss and the regularizer.

    phi has no target network: a value's target network uses the same phi. At every neighbor of a state z is computed again.
    """

    size: int = 10
    """Length N of z."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of phi."""

    request: ClassVar[BatchRequest] = BatchRequest()
    shaped_by_value: ClassVar[bool] = True
    looks_at_state: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, size=COUNT, widths=COUNT)

    def width(self, goal: int) -> int:
        return self.size

    def init(self, key: Key, shapes: Shapes) -> Params:
        return init_mlp(key, shapes.observation + shapes.goal, self.widths, self.size, norm=True)

    def targets(self, params: Params) -> Params:
        return ()

    def encode(self, params: Params, states: Array, goals: Array, key: Key) -> Array:
        return self.project(apply_mlp(params, states, goals))

    def project(self, guesses: Array) -> Array:
        """The closest point of the sphere."""
        length = jnp.linalg.norm(guesses, axis=-1, keepdims=True)
        return guesses / jnp.maximum(length, 1e-8) * jnp.sqrt(self.size)

    def loss(self, params: Params, targets: Params, batch: Batch, key: Key) -> Loss:
        return jnp.zeros(()), {}
