"""Mollified value learning: the value of a nearby state may be higher only by the cost of the distance to it."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.checks import COUNT, FRACTION, NOT_NEGATIVE, POSITIVE, check_settings
from mvl.errors import UsageError
from mvl.types import Field, Key, Loss, Statistics


@dataclass(frozen=True)
class Mollified:
    """Mean of max(0, V(s + e, g) - V(s, g) - c |e|)^2 over K neighbors, e ~ N(0, 2 nu I) (the paper's algorithm 1).

    Heads are summed, and both values are trained unless `through` is `center`. The paper gives no weight; 1 is that of the
    Eikonal code it builds on.
    """

    weight: float = 1.0
    """Factor on the penalty."""
    samples: int = 10
    """Neighbors per state, K (the paper's table 5)."""
    viscosity: float = 0.01
    """nu: neighbors are normal with standard deviation sqrt(2 nu) in each dimension (table 5)."""
    cost: float | Literal["auto"] = 1.0
    """c, cost per unit of distance; `auto` is 1 / the median step length in the data, so that a median step costs 1."""
    form: Literal["algorithm", "text"] = "algorithm"
    """Square each neighbor's excess and average (algorithm 1), or average and then square (section 4.1)."""
    scale: Literal["raw", "std"] | tuple[float, ...] = "raw"
    """Unit of each dimension, for neighbors and distances: raw, std (its standard deviation in the data), or numbers."""
    antithetic: bool = False
    """Draw neighbors in mirrored pairs, s + e and s - e; with an odd number, one has no partner."""
    fraction: float = 1.0
    """Fraction of the batch that is regularized."""
    through: Literal["both", "center"] = "both"
    """Send gradients through both values, or only through that of the state itself, which takes a third of the time."""

    def __post_init__(self) -> None:
        check_settings(self, weight=NOT_NEGATIVE, samples=COUNT, viscosity=POSITIVE, fraction=FRACTION)
        if self.cost != "auto":
            check_settings(self, cost=NOT_NEGATIVE)
        if self.scale not in ("raw", "std"):
            check_settings(self, scale=POSITIVE)

    def fit(self, statistics: Statistics) -> "Mollified":
        """The same regularizer with `auto` and `std` replaced by this dataset's numbers."""
        if self.cost == "auto" and not isinstance(self.scale, str):
            raise UsageError(
                "cost='auto' is defined for scale='raw' and scale='std' only; give a number with scales of your own."
            )
        step = statistics.step if self.scale == "raw" else statistics.scaled_step
        cost = 1.0 / step if self.cost == "auto" else self.cost
        return replace(self, cost=cost, scale=statistics.std if self.scale == "std" else self.scale)

    def __call__(self, field: Field, key: Key) -> Loss:
        field = field.part(self.fraction)
        points, goals = field.points, field.goals
        steps = self.steps(key, points.shape)  # (samples, batch, d)
        cost = self.price() * jnp.linalg.norm(steps, axis=-1)  # (samples, batch)

        here = field.here[:, None]  # (heads, 1, batch)
        near = field.at(points + self.units(points.shape[-1]) * steps, goals)  # (heads, samples, batch)
        excess = (stop_gradient(near) if self.through == "center" else near) - here - cost
        hinged = excess.mean(axis=1) if self.form == "text" else excess
        penalty = jnp.square(jax.nn.relu(hinged)).mean(axis=tuple(range(1, hinged.ndim))).sum()
        return self.weight * penalty, {"penalty": penalty, "active": (hinged > 0).mean()}

    def steps(self, key: Key, shape: tuple[int, ...]) -> Array:
        """Steps to the neighbors in units of `scale`, (samples, *shape)."""
        draws = (self.samples + 1) // 2 if self.antithetic else self.samples
        steps = math.sqrt(2 * self.viscosity) * jax.random.normal(key, (draws, *shape))
        return jnp.concatenate([steps, -steps])[: self.samples] if self.antithetic else steps

    def price(self) -> float:
        """Cost per unit of distance."""
        if self.cost == "auto":
            raise UsageError("cost='auto' needs data: use Mollified(...).fit(statistics), or give a number.")
        return self.cost

    def units(self, dimensions: int) -> Array | float:
        """Raw length of one unit of `scale`, for each dimension."""
        if self.scale == "std":
            raise UsageError("scale='std' needs data: use Mollified(...).fit(statistics), or give the scales.")
        if self.scale == "raw":
            return 1.0
        if len(self.scale) != dimensions:
            raise UsageError(f"scale has {len(self.scale)} numbers for points of {dimensions} dimensions; give one for each.")
        return jnp.asarray(self.scale)
