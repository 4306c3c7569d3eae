"""The slope penalty against closed forms: exact where directions fill the space, unbiased where they do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.errors import UsageError
from mvl.regularizers.eikonal import Eikonal
from mvl.regularizers.slope import Slope, directions, shrinkage
from mvl.types import Field, Statistics


def plane(slope, dimensions=2, count=32, heads=1):
    """V rises by `slope` along a fixed direction that is no axis."""
    direction = np.random.default_rng(0).normal(size=dimensions)
    direction = jnp.asarray(slope * direction / np.linalg.norm(direction), jnp.float32)
    points = jax.random.normal(jax.random.key(1), (count, dimensions))
    return Field(lambda p, g: jnp.stack([p @ direction] * heads), points, points)


def test_directions_are_orthonormal(key):
    found = directions(key, 3, (5, 7))
    products = jnp.einsum("ibd,jbd->bij", found, found)
    assert np.allclose(products, np.eye(3), atol=1e-5)


@pytest.mark.parametrize("slope", [0.5, 1.0, 3.0])
def test_two_pairs_are_exact_for_a_linear_value_in_the_plane(slope, key):
    square, length = Slope().estimates(plane(slope), key)
    assert np.allclose(square, slope**2, rtol=1e-4)
    assert np.allclose(length, slope, rtol=1e-4)
    assert float(Slope()(plane(slope, heads=2), key)[0]) == pytest.approx(2 * (slope - 1) ** 2, abs=1e-3)


@pytest.mark.parametrize(("dimensions", "pairs"), [(30, 1), (30, 2), (30, 4), (100, 2)])
def test_estimates_are_unbiased_in_many_dimensions(dimensions, pairs, key):
    """Mean over 20,000 points: the standard error of X is its deviation sqrt(2 / m) over 141."""
    square, length = Slope(pairs=pairs).estimates(plane(3.0, dimensions, count=20_000), key)
    assert float(square.mean()) == pytest.approx(9.0, rel=0.05)
    assert float(length.mean()) == pytest.approx(3.0, rel=0.02)


@pytest.mark.parametrize(
    ("dimensions", "pairs", "expected"),
    [(2, 1, 0.9003), (3, 1, 0.8660), (8, 2, 0.9143), (30, 1, 0.8046), (30, 2, 0.8937), (100, 2, 0.8885), (100, 8, 0.9717)],
)
def test_bias_that_is_corrected(dimensions, pairs, expected):
    """E sqrt(X) / |dV/ds|: without the correction the penalty has its minimum at this many times c."""
    assert shrinkage(dimensions, pairs) == pytest.approx(expected, abs=2e-4)
    drawn = np.random.default_rng(0).beta(pairs / 2, (dimensions - pairs) / 2, 400_000)
    assert np.sqrt(dimensions / pairs * drawn).mean() == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("dimensions", [2, 8, 30, 100])
@pytest.mark.parametrize("pairs", [1, 2, 4])
def test_the_mean_penalty_is_that_of_the_slope(dimensions, pairs, key):
    for slope in (1.0, 2.0):
        loss, _ = Slope(pairs=pairs, cost=1.0)(plane(slope, dimensions, count=40_000), key)
        assert float(loss) == pytest.approx((slope - 1) ** 2, abs=0.06 * slope**2)


def test_no_directions_beyond_the_dimensions(key):
    assert float(Slope(pairs=9)(plane(4.0, dimensions=1), key)[0]) == pytest.approx(9.0, rel=1e-4)


def test_next_to_nothing_on_the_distance_to_the_goal(key):
    points = jax.random.normal(key, (256, 2))
    away = points / jnp.linalg.norm(points, axis=-1, keepdims=True) * (1.4 + 5 * jax.random.uniform(key, (256, 1)))
    cone = Field(lambda p, g: -jnp.linalg.norm(p - g, axis=-1)[None], away, jnp.zeros_like(away))
    assert float(Slope()(cone, key)[0]) < 1e-3


def test_agrees_with_eikonal_on_a_smooth_value(key):
    points = jax.random.normal(key, (2000, 2))
    field = Field(lambda p, g: jnp.sin(p).sum(-1)[None], points, points)
    assert float(Slope(radius=0.01)(field, key)[0]) == pytest.approx(float(Eikonal()(field, key)[0]), rel=0.01)


def test_sides(key):
    steep, flat = plane(3.0), plane(0.5)
    costs = {side: [float(Slope(side=side)(field, key)[0]) for field in (steep, flat)] for side in ("both", "above", "below")}
    assert costs["both"] == pytest.approx([4.0, 0.25], abs=2e-3)
    assert costs["above"] == pytest.approx([4.0, 0.0], abs=2e-3)
    assert costs["below"] == pytest.approx([0.0, 0.25], abs=2e-3)


def test_one_side_alone_keeps_the_noise_of_the_estimate(key):
    """A slope of exactly c in 30 dimensions, two pairs: the numbers of docs/parts.md, by draws of the squared share."""
    lengths = np.sqrt(15 * np.random.default_rng(0).beta(1, 14, 400_000)) / shrinkage(30, 2)
    field = plane(1.0, 30, count=20_000)
    for side, expected, excess in (("above", 0.14, lengths - 1), ("below", 0.11, 1 - lengths)):
        assert np.square(np.maximum(excess, 0)).mean() == pytest.approx(expected, abs=5e-3)
        assert float(Slope(side=side)(field, key)[0]) == pytest.approx(expected, abs=1e-2)


def test_gradient_by_hand_and_finite_where_flat(key):
    """V = w x in one dimension: d/dw (|w| - 1)^2 = 2 (w - 1); at w = 0 it must be finite."""
    points = jnp.ones((4, 1))
    penalty = lambda w: Slope()(Field(lambda p, g: w * p[None, ..., 0], points, points), key)[0]
    assert float(jax.grad(penalty)(3.0)) == pytest.approx(4.0, abs=1e-3)
    assert jnp.isfinite(jax.grad(penalty)(0.0))


def test_scale_and_automatic_cost(key):
    """In units of 10 per dimension a slope of 0.3 per raw unit is 3 per unit."""
    statistics = Statistics((10.0, 10.0), 0.5, 0.05)
    part = Slope(scale="std", cost="auto").fit(statistics)
    assert part.cost == pytest.approx(20.0)
    assert part.scale == (10.0, 10.0)
    assert np.allclose(part.estimates(plane(0.3), key)[1], 3.0, rtol=1e-3)
    assert Slope(cost="auto").fit(statistics).cost == pytest.approx(2.0)


def test_what_needs_data_says_so(key):
    with pytest.raises(UsageError, match="cost='auto' needs data"):
        Slope(cost="auto")(plane(1.0), key)
    with pytest.raises(UsageError, match="radius must be a number above 0"):
        Slope(radius=0.0)
