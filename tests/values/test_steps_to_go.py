"""Values as numbers of steps: the inverse of what each value converges to."""

import jax.numpy as jnp
import numpy as np
import pytest

from mvl import registry
from mvl.recipes.recipe import make_part

STEPS = np.array([1.0, 5.0, 40.0, 200.0])
DISCOUNT = 0.99


@pytest.mark.parametrize("name", ["implicit_v", "implicit_q", "discrete_q"])
def test_discounted_values(name):
    values = -(1 - DISCOUNT**STEPS) / (1 - DISCOUNT)
    assert np.allclose(make_part("value", name).steps_to_go(jnp.asarray(values), DISCOUNT), STEPS, rtol=1e-3)


@pytest.mark.parametrize("name", ["implicit_v", "implicit_q", "discrete_q"])
def test_impossible_values_are_clipped(name):
    never, here = make_part("value", name).steps_to_go(jnp.asarray([-500.0, 3.0]), DISCOUNT)
    assert 1000 < float(never) < 2000
    assert 0 < float(here) < 0.01


def test_a_quasimetric_is_the_number_of_steps():
    assert np.allclose(make_part("value", "quasimetric").steps_to_go(jnp.asarray(-STEPS), DISCOUNT), STEPS)


@pytest.mark.parametrize("name", ["transitive", "subgoal_tree", "compositional"])
def test_logits_of_a_discount(name):
    chance = DISCOUNT**STEPS
    found = make_part("value", name).steps_to_go(jnp.asarray(np.log(chance / (1 - chance))), DISCOUNT)
    assert np.allclose(found, STEPS, rtol=1e-3)


def test_which_values_count_steps():
    able = {name for name in registry.names("value") if hasattr(registry.part_class("value", name), "steps_to_go")}
    assert set(registry.names("value")) - able == {"absent", "contrastive"}
