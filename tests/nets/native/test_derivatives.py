"""Derivatives of native networks beyond the first gradient, in forward and reverse mode, against those of the JAX formula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType, use_abstract_mesh

from mvl.nets.mlp import apply_ensemble, apply_mlp, ensemble_formula, init_ensemble, init_mlp, mlp_formula
from mvl.nets.native.library import disabled_reason

pytestmark = pytest.mark.skipif(bool(disabled_reason()), reason=f"not native: {disabled_reason()}")


def total(apply, nets, points, goals):
    """A function of the outputs that has derivatives of all orders."""
    return jnp.sin(apply(nets, points, goals)).sum()


def slope(apply, nets, points, goals):
    """Gradient of one head at every point, as an Eikonal regularizer takes it."""
    return jax.grad(lambda at: apply(nets, at, goals)[0].sum())(points)


def steepness(apply, nets, points, goals):
    return jnp.square(jnp.linalg.norm(slope(apply, nets, points, goals), axis=-1) - 1).sum()


def steepness_in_a_loop(apply, nets, points, goals):
    add = lambda sum, at: (sum + steepness(apply, nets, at, goals), None)
    return jax.lax.scan(add, 0.0, jnp.stack([points, 2 * points]))[0]


def derivative(function, *transforms):
    """The transforms, innermost first, with respect to the points."""

    def at(apply, nets, points, goals):
        made = lambda at: function(apply, nets, at, goals)
        for transform in transforms:
            made = transform(made)
        return made(points)

    return at


def along(function):
    """Derivative of a function along its argument."""
    return lambda at: jax.jvp(function, (at,), (at,))[1]


def summed(function):
    return lambda at: jnp.sin(function(at)).sum()


CASES = {
    "gradient of a slope, parameters": lambda *given: jax.grad(steepness, argnums=1)(*given),
    "gradient of a slope, points and goals": lambda *given: jax.grad(steepness, argnums=(2, 3))(*given),
    "gradient of a slope in a loop": lambda *given: jax.grad(steepness_in_a_loop, argnums=1)(*given),
    "forward": lambda *given: jax.jvp(lambda *at: total(given[0], *at), given[1:], given[1:]),
    "forward, vectorized": derivative(total, jax.jacfwd),
    "forward over reverse": derivative(total, jax.hessian),
    "reverse over forward": derivative(total, along, jax.grad),
    "forward over forward": derivative(total, along, along),
    "reverse over reverse over reverse": derivative(total, jax.grad, summed, jax.grad, summed, jax.grad),
    "reverse over vectorized reverse": lambda apply, nets, points, goals: jax.grad(
        lambda nets: jnp.sin(jax.vmap(jax.grad(lambda at: apply(nets, at, goals[0]).sum()))(points)).sum()
    )(nets),
    "reverse over vectorized": lambda apply, nets, points, goals: jax.grad(
        lambda nets: jnp.sin(jax.vmap(lambda at: apply(nets, at, goals[0]))(points)).sum()
    )(nets),
}


@pytest.mark.parametrize("case", CASES)
def test_derivatives_are_those_of_the_formula(case, key):
    keys = jax.random.split(key, 3)
    nets = init_ensemble(keys[0], 2, 4, (8,), 1, norm=True)
    points, goals = jax.random.normal(keys[1], (3, 2)), jax.random.normal(keys[2], (3, 2))
    found = lambda apply: jax.jit(lambda *given: CASES[case](apply, *given))(nets, points, goals)
    native, known = found(apply_ensemble), found(ensemble_formula)
    assert jax.tree.structure(native) == jax.tree.structure(known)
    largest = max(np.abs(leaf).max() for leaf in jax.tree.leaves(known))
    assert largest > 0.01
    for one, other in zip(jax.tree.leaves(native), jax.tree.leaves(known), strict=True):
        assert np.allclose(one, other, rtol=1e-3, atol=1e-4 * largest)


def test_derivatives_outside_of_a_compiled_program(key):
    net = init_mlp(key, 2, (8,), 1, norm=False)
    bend = lambda apply: jax.grad(lambda x: jnp.square(jax.grad(lambda y: apply(net, y).sum())(x)).sum())(jnp.ones(2))
    assert np.allclose(bend(apply_mlp), bend(mlp_formula), atol=1e-5)
    push = lambda apply: jax.jvp(lambda x: apply(net, x), (jnp.ones(2),), (jnp.ones(2),))
    assert np.allclose(push(apply_mlp), push(mlp_formula), atol=1e-5)


def compiled(function, *args):
    return jax.jit(function).lower(*args).compile().as_text()


def test_what_runs_natively(key):
    """Values and first gradients do. A trained slope is computed by JAX alone, not by both."""
    nets, points, goals = init_ensemble(key, 2, 4, (8, 8), 1, norm=True), jnp.ones((3, 2)), jnp.ones((3, 2))
    values = compiled(lambda *given: total(apply_ensemble, *given), nets, points, goals)
    assert (values.count("mvl_mlp_forward"), values.count("mvl_mlp_backward")) == (1, 0)
    first = compiled(jax.grad(lambda *given: total(apply_ensemble, *given)), nets, points, goals)
    assert (first.count("mvl_mlp_forward"), first.count("mvl_mlp_backward")) == (1, 1)
    second = compiled(jax.grad(lambda *given: steepness(apply_ensemble, *given)), nets, points, goals)
    known = compiled(jax.grad(lambda *given: steepness(ensemble_formula, *given)), nets, points, goals)
    assert "mvl_mlp" not in second
    assert second.count(" dot(") == known.count(" dot(") > 0


@pytest.mark.parametrize(("kind", "native"), [(AxisType.Auto, False), (AxisType.Manual, True)])
def test_not_in_a_program_that_the_compiler_partitions(key, kind, native):
    """But in one that is written for each device, as when seeds train side by side."""
    net = init_mlp(key, 2, (8,), 1, norm=True)
    with use_abstract_mesh(AbstractMesh((2,), ("batch",), axis_types=(kind,))):
        made = str(jax.make_jaxpr(lambda x: apply_mlp(net, x))(jnp.ones((4, 2))))
    assert ("mvl_mlp_forward" in made) == native
