"""Native networks against the JAX formulas: values and first gradients, in every shape they come in."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.nets.mlp import apply_ensemble, apply_mlp, ensemble_formula, init_ensemble, init_mlp, mlp_formula
from mvl.nets.native.library import disabled_reason

pytestmark = pytest.mark.skipif(bool(disabled_reason()), reason=f"not native: {disabled_reason()}")


def disturbed(tree, key):
    """Norms and biases that are not one and zero."""
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves))
    return jax.tree.unflatten(structure, [x + 0.1 * jax.random.normal(k, x.shape) for k, x in zip(keys, leaves, strict=True)])


SHAPES = {
    "a batch": (2, (128, 128, 128), 1, [(256, 2), (256, 2)]),
    "more rows than a block, not a multiple": (2, (32, 48), 2, [(301, 5)]),
    "goals shared by neighbors": (2, (96, 64), 5, [(4, 50, 3), (50, 20)]),
    "few narrow goals shared": (2, (16,), 2, [(4, 50, 3), (50, 2)]),
    "every point with every goal": (2, (16,), 2, [(4, 1, 3), (7, 20)]),
    "one goal for all": (1, (16, 16), 3, [(9, 2), (20,)]),
    "odd widths, many outputs": (3, (24, 40, 10), 40, [(1, 3, 2), (5, 3, 4), (6,)]),
    "a single row": (2, (32,), 3, [(3,), (4,)]),
    "narrow": (1, (3,), 1, [(33, 4)]),
}


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients_are_those_of_jax(shape, norm, key):
    heads, widths, outputs, given = SHAPES[shape]
    nets = disturbed(init_ensemble(key, heads, sum(size[-1] for size in given), widths, outputs, norm=norm), key)
    inputs = [jax.random.normal(jax.random.fold_in(key, i), size) for i, size in enumerate(given)]

    def loss(apply, nets, inputs):
        out = apply(nets, *inputs)
        return jnp.sin(out).sum(), out

    both = jax.jit(jax.value_and_grad(loss, argnums=(1, 2), has_aux=True), static_argnums=0)
    (_, out), slopes = both(apply_ensemble, nets, inputs)
    (_, expected), known = both(ensemble_formula, nets, inputs)
    assert out.shape == expected.shape
    assert np.allclose(out, expected, atol=2e-5)
    for one, other in zip(jax.tree.leaves(slopes), jax.tree.leaves(known), strict=True):
        assert np.allclose(one, other, rtol=1e-4, atol=2e-5 * max(1, np.abs(other).max()))


def test_large_inputs_saturate_and_undefined_ones_stay_so(key):
    """GELU's exponent must not wrap around, and what is not a number must not become one."""
    net = init_mlp(key, 2, (16, 16), 1, norm=False)
    far = jnp.array([[1e4, -1e4], [-3e5, 1e3], [300.0, 200.0]])
    assert np.allclose(apply_mlp(net, far), mlp_formula(net, far), rtol=1e-4)
    assert np.isnan(apply_mlp(net, jnp.array([[jnp.nan, 0.0], [0.0, 0.0]]))).tolist() == [[True], [False]]


def test_many_policies_in_one_call(key):
    """One network for many states, as when acting; and many networks, each for its own states."""
    net, states = init_mlp(key, 4, (16, 16), 2, norm=True), jax.random.normal(key, (10, 4))
    assert np.array_equal(jax.vmap(lambda x: apply_mlp(net, x[:2], x[2:]))(states), apply_mlp(net, states))
    nets = init_ensemble(key, 5, 4, (16, 16), 2, norm=True)
    assert np.allclose(jax.vmap(lambda n: apply_mlp(n, states))(nets), apply_ensemble(nets, states), atol=1e-6)
    slopes = jax.vmap(lambda x: jax.grad(lambda n: apply_mlp(n, x).sum())(net))(states)
    together = jax.grad(lambda n: apply_mlp(n, states).sum())(net)
    for each, total in zip(jax.tree.leaves(slopes), jax.tree.leaves(together), strict=True):
        assert np.allclose(each.sum(0), total, atol=1e-4)


def test_other_precisions_are_not_native(key):
    net = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), init_mlp(key, 2, (16,), 1, norm=True))
    assert apply_mlp(net, jnp.ones((3, 2), jnp.bfloat16)).dtype == jnp.bfloat16


PRINT_BITS = """
import hashlib, os, sys
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: int(sys.argv[1])]))
import jax, numpy as np
from mvl.nets.mlp import apply_ensemble, init_ensemble
nets = init_ensemble(jax.random.key(0), 2, 4, (64, 64), 1, norm=True)
x = jax.random.normal(jax.random.key(1), (300, 4))
found = jax.jit(jax.value_and_grad(lambda n: apply_ensemble(n, x).sum()))(nets)
print(hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(found))).hexdigest())
"""


@pytest.mark.slow
def test_threads_change_no_bit():
    def bits(cores: int) -> str:
        done = subprocess.run([sys.executable, "-c", PRINT_BITS, str(cores)], capture_output=True, text=True, env=threaded())
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert bits(1) == bits(2)


def threaded() -> dict[str, str]:
    """Without the tests' own setting that keeps XLA to one thread."""
    import os

    return {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
