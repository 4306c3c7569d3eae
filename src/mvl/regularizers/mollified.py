"""Mollified value learning: the value of a nearby state may be higher only by the cost of the distance to it."""

import math
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.checks import COUNT, FRACTION, NOT_NEGATIVE, POSITIVE, check_settings
from mvl.errors import UsageError
from mvl.types import Field, Key, Loss, Statistics
from mvl.units import Cost, Scale, check_units, fitted, known_cost, known_scale


@dataclass(frozen=True)
class Mollified:
    """Mean of max(0, V(s + e, g) - V(s, g) - c |e|)^2 over K neighbors, e ~ N(0, 2 nu I) (the paper's algorithm 1).

    Heads are summed, and both values are trained unless `through` says otherwise. The paper gives no weight; 1 is that of
    the Eikonal code it builds on.
    """

    weight: float = 1.0
    """Factor on the penalty."""
    samples: int = 10
    """Neighbors per state, K (the paper's table 5)."""
    viscosity: float = 0.01
    """nu: neighbors are normal with standard deviation sqrt(2 nu) in each dimension (table 5)."""
    std: float | None = None
    """Standard deviation of the neighbors, given directly instead of by nu (the paper's first version has 0.01)."""
    cost: Cost = 1.0
    """c, cost per unit of distance; `auto` is 1 / the median step length in the data, so that a median step costs 1."""
    cost_form: Literal["distance", "constant"] = "distance"
    """Cost of a neighbor: c times its distance, or c for every neighbor (the paper's first version)."""
    form: Literal["algorithm", "text"] = "algorithm"
    """Square each neighbor's excess and average (algorithm 1), or average and then square (section 4.1)."""
    scale: Scale = "raw"
    """Unit of each dimension, for neighbors and distances: raw, std (its standard deviation in the data), or numbers."""
    antithetic: bool = False
    """Draw neighbors in mirrored pairs, s + e and s - e; with an odd number, one has no partner."""
    fraction: float = 1.0
    """Fraction of the batch that is regularized."""
    through: Literal["both", "center", "target"] = "both"
    """Send gradients through both values, or only through that of the state itself, which takes a third of the time. With
    target, neighbors are valued by the target network (the paper's first version)."""

    def __post_init__(self) -> None:
        check_settings(self, weight=NOT_NEGATIVE, samples=COUNT, viscosity=POSITIVE, fraction=FRACTION)
        if self.std is not None:
            check_settings(self, std=NOT_NEGATIVE)
        check_units(self)

    @property
    def needs_target(self) -> bool:
        """Whether it asks for the surface of the target networks."""
        return self.through == "target"

    def fit(self, statistics: Statistics) -> "Mollified":
        """The same regularizer with `auto` and `std` replaced by this dataset's numbers."""
        return fitted(self, statistics)

    def __call__(self, field: Field, key: Key) -> Loss:
        hinge = self.operator if self.form == "text" else self.residuals
        hinged = hinge(field.part(self.fraction), key)
        penalty = jnp.square(jax.nn.relu(hinged)).mean(axis=tuple(range(1, hinged.ndim))).sum()
        return self.weight * penalty, {"penalty": penalty, "active": (hinged > 0).mean()}

    def operator(self, field: Field, key: Key) -> Array:
        """The paper's operator R_delta[V] = E[Phi] at every point, estimated with K neighbors, (heads, batch)."""
        return self.residuals(field, key).mean(axis=1)

    def residuals(self, field: Field, key: Key) -> Array:
        """The paper's Phi = V(s', g) - V(s, g) - c |s' - s| for every neighbor s', (heads, samples, batch)."""
        steps = self.steps(key, field.points.shape)  # (samples, batch, d)
        here = field.here[:, None]  # (heads, 1, batch)
        return self.near(field, steps) - here - self.costs(steps)

    def steps(self, key: Key, shape: tuple[int, ...]) -> Array:
        """Steps to the neighbors in units of `scale`, (samples, *shape)."""
        draws = (self.samples + 1) // 2 if self.antithetic else self.samples
        std = math.sqrt(2 * self.viscosity) if self.std is None else self.std
        steps = std * jax.random.normal(key, (draws, *shape))
        return jnp.concatenate([steps, -steps])[: self.samples] if self.antithetic else steps

    def near(self, field: Field, steps: Array) -> Array:
        """Values of the neighbors, (heads, samples, batch)."""
        points = field.points + known_scale(self.scale, field.points.shape[-1]) * steps
        if self.through == "target":
            if field.target_at is None:
                raise UsageError("through='target' needs a value with a target network; choose both or center.")
            return stop_gradient(field.target_at(points, field.goals))
        near = field.at(points, field.goals)
        return stop_gradient(near) if self.through == "center" else near

    def costs(self, steps: Array) -> Array | float:
        """Costs of the distances to the neighbors, (samples, batch), or one for all."""
        cost = known_cost(self.cost)
        return cost if self.cost_form == "constant" else cost * jnp.linalg.norm(steps, axis=-1)
