"""The Eikonal regularizer, the paper's baseline: it pulls the norm of the value's gradient towards 1."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from mvl.checks import FRACTION, NOT_NEGATIVE, POSITIVE, check_settings
from mvl.errors import UsageError
from mvl.types import Field, Key, Loss


@dataclass(frozen=True)
class Eikonal:
    """Mean of (S |dV/ds| - 1)^2, heads summed (Giammarino et al.), with constant speed S."""

    weight: float = 1.0
    """Factor on the penalty."""
    speed: float = 1.0
    """S, distance covered per unit of cost."""
    fraction: float = 1.0
    """Fraction of the batch that is regularized."""

    def __post_init__(self) -> None:
        check_settings(self, weight=NOT_NEGATIVE, speed=POSITIVE, fraction=FRACTION)

    def __call__(self, field: Field, key: Key) -> Loss:
        if not field.paired:
            raise UsageError("eikonal needs each state with its own goal; set the representation's anchors to 0.")
        field = field.part(self.fraction)
        heads = jax.eval_shape(field.at, field.points, field.goals).shape[0]
        slopes = jnp.stack([self.slope(field, head) for head in range(heads)])  # (heads, batch, d)
        length = jnp.linalg.norm(slopes + 1e-8, axis=-1)  # the shift keeps the norm differentiable at zero
        penalty = jnp.square(self.speed * length - 1.0).mean(axis=1).sum()
        return self.weight * penalty, {"penalty": penalty, "slope": length.mean()}

    def slope(self, field: Field, head: int) -> Array:
        """dV/ds at every point, (batch, d): each value depends on its own point alone, so one gradient of their sum suffices."""
        slopes: Array = jax.grad(lambda points: field.at(points, field.goals)[head].sum())(field.points)
        return slopes
