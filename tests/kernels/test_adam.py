"""One pass of Adam and the copies against optax."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from mvl.kernels.library import why_not
from mvl.learn.optimizer import Moved, move, optimizer

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no kernels: {why_not()}")


class Params(NamedTuple):
    policy: dict[str, Array]
    value: dict[str, Array]


def random(seed: int) -> Params:
    draw = np.random.default_rng(seed).normal
    made = lambda *shape: jnp.asarray(draw(size=shape), jnp.float32)
    return Params({"kernel": made(3, 37), "bias": made(5)}, {"kernel": made(300, 70), "scale": made()})


def test_steps_are_those_of_optax():
    """Several steps, so that averages and their corrections count; the value has copies, the policy none."""
    copied = lambda params: params.value
    start = random(0)
    one = other = Moved(start, jax.tree.map(lambda x: x + 1, start.value), optimizer(1e-2).init(start))
    for step in range(5):
        gradients = jax.tree.map(lambda x: 3 * x, random(step + 1))
        one = move(one, gradients, 1e-2, 0.1, copied, kernels=True)
        other = move(other, gradients, 1e-2, 0.1, copied, kernels=False)
    assert jax.tree.structure(one) == jax.tree.structure(other)
    assert int(one.optimizer[0].count) == 5
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert np.allclose(left, right, rtol=1e-5, atol=1e-6)
    assert not np.allclose(one.targets["kernel"], one.params.value["kernel"], atol=0.1)


def test_what_was_there_before_is_left_alone():
    """Kernels write in place only what nobody needs any more."""
    start = random(0)
    kept = jax.tree.map(np.array, start)
    before = Moved(start, start.value, optimizer(1e-2).init(start))
    jax.jit(lambda b, g: move(b, g, 1e-2, 0.1, lambda params: params.value, kernels=True))(before, random(1))
    for left, right in zip(jax.tree.leaves(start), jax.tree.leaves(kept), strict=True):
        assert np.array_equal(left, right)
