"""What every registered regularizer must do, whatever it asks for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl import registry
from mvl.recipes.recipe import make_part
from mvl.types import Field

NAMES = registry.names("regularizer")


def field(weight=3.0, heads=2, count=32, dimensions=3):
    points = jax.random.normal(jax.random.key(1), (count, dimensions))

    def at(p, g):
        distance = jnp.sqrt(jnp.square(p - g).sum(-1) + 0.1)
        return jnp.stack([-weight * (1 + 0.1 * head) * distance for head in range(heads)])

    return Field(at, points, points[::-1] + 0.5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("heads", [1, 2])
def test_value_and_gradient_are_finite_jitted_and_repeatable(name, heads, key):
    part = make_part("regularizer", name)
    run = jax.jit(jax.value_and_grad(lambda w, k: part(field(w, heads), k)[0]))
    value, gradient = run(3.0, key)
    assert value.shape == ()
    assert jnp.isfinite(value)
    assert jnp.isfinite(gradient)
    assert run(3.0, key)[0] == value


@pytest.mark.parametrize("name", NAMES)
def test_works_under_vmap(name, key):
    part = make_part("regularizer", name)
    keys = jax.random.split(key, 3)
    together = jax.vmap(lambda k: part(field(), k)[0])(keys)
    alone = [part(field(), k)[0] for k in keys]
    assert np.allclose(together, alone, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "none"])
def test_weight_is_a_factor(name, key):
    once, _ = make_part("regularizer", name)(field(), key)
    nothing, _ = make_part("regularizer", name, weight=0.0)(field(), key)
    thrice, _ = make_part("regularizer", name, weight=3.0)(field(), key)
    assert float(once) > 0
    assert float(nothing) == 0.0
    assert float(thrice) == pytest.approx(3 * float(once), rel=1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "none"])
def test_more_heads_cost_their_sum(name, key):
    one, _ = make_part("regularizer", name)(field(heads=1), key)
    both, _ = make_part("regularizer", name)(field(heads=2), key)
    assert float(both) > 1.5 * float(one)


@pytest.mark.parametrize("name", NAMES)
def test_metrics_are_numbers(name, key):
    _, metrics = make_part("regularizer", name)(field(), key)
    assert all(value.shape == () and jnp.isfinite(value) for value in metrics.values())


def test_a_flat_field_costs_nothing_but_where_a_slope_is_asked_for(key):
    flat = field()._replace(at=lambda p, g: jnp.zeros((2, *p.shape[:-1])))
    costs = {name: float(make_part("regularizer", name)(flat, key)[0]) for name in NAMES}
    assert costs.pop("eikonal") == pytest.approx(2.0)
    assert costs.pop("slope") == pytest.approx(2.0, abs=1e-4)
    assert set(costs.values()) == {0.0}
