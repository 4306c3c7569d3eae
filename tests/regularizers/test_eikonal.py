import jax
import jax.numpy as jnp
import pytest

from mvl.errors import UsageError
from mvl.regularizers.eikonal import Eikonal
from mvl.types import Field


def plane(slope, heads=2, dimensions=3):
    points = jax.random.normal(jax.random.key(1), (32, dimensions))
    return Field(lambda p, g: jnp.stack([slope * p[..., 0]] * heads), points, points)


@pytest.mark.parametrize("slope", [0.0, 1.0, 2.0, 5.0])
def test_linear_field_pays_the_squared_distance_from_slope_one_per_head(slope, key):
    loss, metrics = Eikonal()(plane(slope), key)
    assert float(loss) == pytest.approx(2 * (slope - 1) ** 2, abs=1e-5)
    assert float(metrics["slope"]) == pytest.approx(slope, abs=1e-6)


def test_zero_on_the_distance_to_the_goal(key):
    points = jax.random.normal(key, (64, 4))
    cone = Field(lambda p, g: -jnp.linalg.norm(p - g, axis=-1)[None], points, points + 3.0)
    assert float(Eikonal()(cone, key)[0]) < 1e-10


def test_speed_and_weight(key):
    loss, _ = Eikonal(speed=0.5, weight=10.0)(plane(2.0), key)
    assert float(loss) == pytest.approx(0.0, abs=1e-6)
    loss, _ = Eikonal(speed=2.0, weight=10.0)(plane(2.0, heads=1), key)
    assert float(loss) == pytest.approx(10 * 9, rel=1e-5)


def test_heads_have_their_own_slopes(key):
    points = jax.random.normal(key, (8, 2))
    field = Field(lambda p, g: jnp.stack([3 * p[..., 0], p[..., 1]]), points, points)
    assert float(Eikonal()(field, key)[0]) == pytest.approx((3 - 1) ** 2 + 0, abs=1e-5)


def test_gradient_is_finite_where_the_slope_vanishes(key):
    points = jnp.zeros((4, 2))
    gradient = jax.grad(lambda w: Eikonal()(Field(lambda p, g: w * (p**2).sum(-1)[None], points, points), key)[0])(1.0)
    assert jnp.isfinite(gradient)


def test_second_order_gradient_by_hand(key):
    """V = w x has slope |w|: d/dw (w - 1)^2 = 2 (w - 1)."""
    points = jnp.ones((4, 1))
    gradient = jax.grad(lambda w: Eikonal()(Field(lambda p, g: w * p[None, ..., 0], points, points), key)[0])(3.0)
    assert float(gradient) == pytest.approx(4.0, abs=1e-5)


def test_a_part_of_the_batch(key):
    """Slopes 1 in the first half and 3 in the second: only the first is looked at."""
    points = jnp.concatenate([jnp.full((4, 1), 1.0), jnp.full((4, 1), 3.0)])
    field = Field(lambda p, g: 0.5 * p[None, ..., 0] ** 2, points, points)
    assert float(Eikonal(fraction=0.5)(field, key)[0]) == pytest.approx(0, abs=1e-6)
    assert float(Eikonal()(field, key)[0]) == pytest.approx(4 / 2, rel=1e-5)
    with pytest.raises(UsageError, match="fraction must be a number above 0"):
        Eikonal(fraction=0.0)
