"""Native Adam, and the copies that follow the parameters, against optax."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from mvl.learn import optimizer as module
from mvl.learn.optimizer import Variables, adam_step, optimizer
from mvl.nets.native.library import disabled_reason

pytestmark = pytest.mark.skipif(bool(disabled_reason()), reason=f"not native: {disabled_reason()}")


class Params(NamedTuple):
    policy: dict[str, Array]
    value: dict[str, Array]


def random(seed: int) -> Params:
    draw = np.random.default_rng(seed).normal
    made = lambda *shape: jnp.asarray(draw(size=shape), jnp.float32)
    return Params({"kernel": made(3, 37), "bias": made(5)}, {"kernel": made(300, 70), "scale": made()})


def test_steps_are_those_of_optax(monkeypatch):
    """Several steps, so that averages and their corrections count; the value has copies, the policy none."""
    copied = lambda params: params.value
    start = random(0)
    one = other = Variables(start, jax.tree.map(lambda x: x + 1, start.value), optimizer(1e-2).init(start))
    for step in range(5):
        gradients = jax.tree.map(lambda x: 3 * x, random(step + 1))
        one = adam_step(one, gradients, 1e-2, 0.1, copied)
        with monkeypatch.context() as patched:
            patched.setattr(module, "enabled", lambda *arrays: False)
            other = adam_step(other, gradients, 1e-2, 0.1, copied)
    assert jax.tree.structure(one) == jax.tree.structure(other)
    assert int(one.optimizer[0].count) == 5
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert np.allclose(left, right, rtol=1e-5, atol=1e-6)
    assert not np.allclose(one.targets["kernel"], one.params.value["kernel"], atol=0.1)


def test_what_was_there_before_is_left_alone():
    """Arrays are overwritten only if nobody needs them any more."""
    start = random(0)
    kept = jax.tree.map(np.array, start)
    before = Variables(start, start.value, optimizer(1e-2).init(start))
    jax.jit(lambda b, g: adam_step(b, g, 1e-2, 0.1, lambda params: params.value))(before, random(1))
    for left, right in zip(jax.tree.leaves(start), jax.tree.leaves(kept), strict=True):
        assert np.array_equal(left, right)


def test_a_parameter_may_have_the_name_of_a_part_of_the_state():
    params = {"mu": jnp.ones(3), "count": jnp.ones(2)}
    before = Variables(params, (), optimizer(0.1).init(params))
    after = adam_step(before, params, 0.1, 0.1, lambda params: ())
    assert jax.tree.structure(after) == jax.tree.structure(before)
    assert int(after.optimizer[0].count) == 1
    assert np.allclose(after.optimizer[0].mu["mu"], 0.1)
    assert np.allclose(after.params["count"], 0.9)
