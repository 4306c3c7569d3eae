"""Slope, ours: Eikonal's penalty from values alone, by finite differences along random directions."""

import math
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

from mvl.checks import COUNT, FRACTION, NOT_NEGATIVE, POSITIVE, check_settings
from mvl.types import Field, Key, Loss, Statistics
from mvl.units import Cost, Scale, check_units, fitted, known_cost, known_scale


@dataclass(frozen=True)
class Slope:
    """Mean of (|dV/ds| - c)^2, heads summed, without derivatives.

    Along m random orthonormal directions u_j, D_j = (V(s + r u_j) - V(s - r u_j)) / 2r. In d dimensions
    X = (d / m) sum_j D_j^2 has the mean |dV/ds|^2, and sqrt(X) has the mean k |dV/ds| with k < 1 if m < d
    (`shrinkage`). The penalty X - 2 c sqrt(X) / k + c^2 corrects for that, so its mean is the one above for a linear V.
    In trials of one seed it helped where a unit of distance costs about the same everywhere (mazes) and harmed where that
    is far from true: a slope of 1 in an arm's joint space is 25 times too flat.
    """

    weight: float = 1.0
    """Factor on the penalty."""
    cost: Cost = 1.0
    """c, wanted slope; `auto` is 1 / the median step length in the data, so that a median step costs 1."""
    side: Literal["both", "above", "below"] = "both"
    """Penalize every other slope, only steeper ones (above c), or only flatter ones (below c). One side alone keeps the noise of
    the estimate, so with fewer pairs than dimensions it also acts on a slope of exactly c."""
    radius: float = 0.14
    """r, distance from a state to the points on both sides of it."""
    pairs: int = 2
    """m, directions per state; never more than there are dimensions."""
    scale: Scale = "raw"
    """Unit of each dimension: raw, std (its standard deviation in the data), or numbers."""
    fraction: float = 1.0
    """Fraction of the batch that is regularized."""

    def __post_init__(self) -> None:
        check_settings(self, weight=NOT_NEGATIVE, radius=POSITIVE, pairs=COUNT, fraction=FRACTION)
        check_units(self)

    def fit(self, statistics: Statistics) -> "Slope":
        """The same regularizer with `auto` and `std` replaced by this dataset's numbers."""
        return fitted(self, statistics)

    def __call__(self, field: Field, key: Key) -> Loss:
        field = field.part(self.fraction)
        square, slope = self.estimates(field, key)  # (heads, batch)
        cost = known_cost(self.cost)
        if self.side == "both":
            terms = square - 2 * cost * slope + cost**2
        else:
            terms = jnp.square(jax.nn.relu(slope - cost if self.side == "above" else cost - slope))
        penalty = terms.mean(axis=tuple(range(1, terms.ndim))).sum()
        return self.weight * penalty, {"penalty": penalty, "slope": slope.mean()}

    def estimates(self, field: Field, key: Key) -> tuple[Array, Array]:
        """Estimates of |dV/ds|^2 and of |dV/ds| at every point; both have the right mean for a linear V."""
        dimensions = field.points.shape[-1]
        pairs = min(self.pairs, dimensions)
        steps = self.radius * directions(key, pairs, field.points.shape)  # (pairs, batch, d)
        moved = field.points + known_scale(self.scale, dimensions) * jnp.concatenate([steps, -steps])
        values = field.at(moved, field.goals)  # (heads, 2 pairs, batch)
        differences = (values[:, :pairs] - values[:, pairs:]) / (2 * self.radius)
        square = dimensions / pairs * jnp.square(differences).sum(axis=1)
        return square, jnp.sqrt(square + 1e-12) / shrinkage(dimensions, pairs)  # the shift keeps the root differentiable


def directions(key: Key, count: int, shape: tuple[int, ...]) -> Array:
    """Random orthonormal directions for each of several points (..., d), by Gram and Schmidt: (count, ..., d)."""
    found: list[Array] = []
    for drawn in jax.random.normal(key, (count, *shape)):
        for earlier in found:
            drawn = drawn - (drawn * earlier).sum(-1, keepdims=True) * earlier
        found.append(drawn / jnp.linalg.norm(drawn, axis=-1, keepdims=True))
    return jnp.stack(found)


def shrinkage(dimensions: int, pairs: int) -> float:
    """E sqrt(X) / |dV/ds|: the squared share of a vector in m of d directions has a Beta(m / 2, (d - m) / 2) distribution."""
    if pairs == dimensions:
        return 1.0
    gammas = math.lgamma((pairs + 1) / 2) + math.lgamma(dimensions / 2)
    gammas -= math.lgamma(pairs / 2) + math.lgamma((dimensions + 1) / 2)
    return math.sqrt(dimensions / pairs) * math.exp(gammas)
