"""Units of distances between observations: raw, standard deviations of the data, or numbers of the caller."""

from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypeVar

import jax.numpy as jnp
from jax import Array

from mvl.checks import NOT_NEGATIVE, POSITIVE, check_settings
from mvl.errors import UsageError
from mvl.types import Statistics

Scale: TypeAlias = Literal["raw", "std"] | tuple[float, ...]
"""Unit of each dimension: raw, std (its standard deviation in the data), or a number for each."""
Cost: TypeAlias = float | Literal["auto"]
"""Cost per unit of distance; `auto` is 1 / the median step length in the data, so that a median step costs 1."""

Part = TypeVar("Part", bound=Any)


def check_units(part: Any) -> None:
    """Refuse a cost or a scale of a regularizer that is out of range."""
    if part.cost != "auto":
        check_settings(part, cost=NOT_NEGATIVE)
    if part.scale not in ("raw", "std"):
        check_settings(part, scale=POSITIVE)


def fitted(part: Part, statistics: Statistics) -> Part:
    """The same regularizer with cost `auto` and scale `std` replaced by the numbers of a dataset."""
    if part.cost == "auto" and not isinstance(part.scale, str):
        raise UsageError("cost='auto' is defined for scale='raw' and scale='std' only; give a number with scales of your own.")
    step = statistics.step if part.scale == "raw" else statistics.scaled_step
    cost = 1.0 / step if part.cost == "auto" else part.cost
    fitted_part: Part = replace(part, cost=cost, scale=statistics.std if part.scale == "std" else part.scale)
    return fitted_part


def known_cost(cost: Cost) -> float:
    """The cost per unit of distance, which must be a number by now."""
    if cost == "auto":
        raise UsageError("cost='auto' needs data: call .fit(statistics) on the regularizer, or give a number.")
    return cost


def known_scale(scale: Scale, dimensions: int) -> Array | float:
    """Factors from units of `scale` to raw units, which must be numbers by now."""
    if scale == "std":
        raise UsageError("scale='std' needs data: call .fit(statistics) on the regularizer, or give the scales.")
    if scale == "raw":
        return 1.0
    if len(scale) != dimensions:
        raise UsageError(f"scale has {len(scale)} numbers for points of {dimensions} dimensions; give one for each.")
    return jnp.asarray(scale)
