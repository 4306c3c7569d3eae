"""Value-implicit pre-training: an embedding in which negative distances are values, trained on windows of episodes."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.checks import COUNT, check_settings
from mvl.nets.mlp import apply_mlp, init_mlp
from mvl.types import Key, Loss, Params, Shapes


@dataclass(frozen=True)
class VIP:
    """z = phi(g), with V(s, g) = -|phi(s) - phi(g)| trained by VIP's dual objective.

    L = (1 - discount) mean -V(start, end) + log sum exp(V(here, end) + 1 - discount V(there, end)).
    Windows lie within one episode; in the code of the published numbers they may cross episode boundaries.
    """

    size: int = 256
    """Length of z."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of phi."""

    request: ClassVar[BatchRequest] = BatchRequest(windows=True)
    shaped_by_value: ClassVar[bool] = False
    looks_at_state: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, size=COUNT, widths=COUNT)

    def width(self, goal: int) -> int:
        return self.size

    def init(self, key: Key, shapes: Shapes) -> Params:
        return init_mlp(key, shapes.goal, self.widths, self.size, norm=True)

    def targets(self, params: Params) -> Params:
        return ()

    def encode(self, params: Params, states: Array, goals: Array, key: Key) -> Array:
        return apply_mlp(params, goals)

    def loss(self, params: Params, targets: Params, batch: Batch, key: Key) -> Loss:
        assert batch.windows is not None, "requested by the part"
        start, here, there, end = (apply_mlp(params, states) for states in batch.windows)

        def value(embedded: Array) -> Array:
            return -jnp.sqrt(jnp.maximum(jnp.square(embedded - end).sum(-1), 1e-6))

        residual = value(here) + 1 - batch.discount * value(there)
        attraction = (1 - batch.discount) * -value(start).mean()
        return attraction + jax.nn.logsumexp(residual), {"distance": -value(start).mean(), "residual": residual.mean()}
