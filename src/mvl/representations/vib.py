"""A variational information bottleneck: a random embedding of the goal, trained by the value loss."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.checks import COUNT, NOT_NEGATIVE, check_settings
from mvl.errors import UsageError
from mvl.nets.mlp import MLP, Dense, apply_mlp, dense, init_dense, init_mlp, lecun
from mvl.types import Key, Loss, Params, Shapes


class Encoder(NamedTuple):
    trunk: MLP
    mean: Dense
    log_std: Dense


@dataclass(frozen=True)
class VIB:
    """z ~ N(mu(g), sigma(g)^2), trained by the value loss and beta * KL(. || N(0, I)).

    The value loss and the regularizer use one sample of z per goal; the policy uses another, without gradient.
    z is also sampled in evaluations.
    """

    size: int = 256
    """Length of z."""
    beta: float = 0.001
    """Factor on the KL divergence, summed over the dimensions of z."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Layers of the encoder; the last is linear and is the input of the two heads."""

    request: ClassVar[BatchRequest] = BatchRequest()
    shaped_by_value: ClassVar[bool] = True
    looks_at_state: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, size=COUNT, beta=NOT_NEGATIVE, widths=COUNT)
        if not self.widths:
            raise UsageError("VIB.widths must have at least one layer, from which mean and standard deviation are computed.")

    def width(self, goal: int) -> int:
        return self.size

    def init(self, key: Key, shapes: Shapes) -> Params:
        keys = jax.random.split(key, 3)
        trunk = init_mlp(keys[0], shapes.goal, self.widths[:-1], self.widths[-1], norm=True)
        return Encoder(trunk, *(init_dense(k, self.widths[-1], self.size, lecun) for k in keys[1:]))

    def targets(self, params: Params) -> Params:
        return ()

    def posterior(self, params: Encoder, goals: Array) -> tuple[Array, Array]:
        """Mean and log standard deviation of z."""
        features = apply_mlp(params.trunk, goals)
        return dense(params.mean, features), jnp.clip(dense(params.log_std, features), -5.0, 2.0)

    def encode(self, params: Params, states: Array, goals: Array, key: Key) -> Array:
        mean, log_std = self.posterior(params, goals)
        return mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)

    def loss(self, params: Params, targets: Params, batch: Batch, key: Key) -> Loss:
        mean, log_std = self.posterior(params, batch.value_goals.vectors)
        divergence = 0.5 * (jnp.square(mean) + jnp.exp(2 * log_std) - 1 - 2 * log_std).sum(-1).mean()
        return self.beta * divergence, {"divergence": divergence, "std": jnp.exp(log_std).mean()}
