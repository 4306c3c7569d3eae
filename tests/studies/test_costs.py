"""The work of a step by its settings against the matrix products in the traced step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import partial_eval

from conftest import walk
from mvl.data.goals import on_device
from mvl.experiment import Experiment
from mvl.learn.learner import Learner
from mvl.nets.native import operation
from mvl.registry import AXES, names
from mvl.studies.costs import PASSES, work
from mvl.types import Shapes

DIMENSIONS = 29


def products(jaxpr) -> float:
    """Floating-point operations of the matrix products in a program and in the programs it calls."""
    total = 0.0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            total += 2.0 * np.prod(equation.outvars[0].aval.shape) * np.prod([shape[axis] for axis in contracted])
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                total += products(inner) if hasattr(inner, "eqns") else 0.0
    return total


@pytest.mark.parametrize("name", ["gcivl", "gcivl-mvl", "gcivl-eik", "dual", "hiql", "crl", "tdp", "bc"])
def test_the_work_of_a_step_is_about_that_of_its_matrix_products(name, monkeypatch):
    monkeypatch.setattr(operation, "enabled", lambda *_: False)
    of = Experiment.from_preset("antmaze-medium-navigate-v0", name, "paper")
    data = walk(dimensions=DIMENSIONS)
    learner = Learner(of.recipe.fit(data.statistics), Shapes(DIMENSIONS, DIMENSIONS, DIMENSIONS))
    state = jax.eval_shape(lambda: learner.init(jnp.zeros((), jnp.uint32)))
    batch = jax.eval_shape(lambda s: learner.sample(on_device(data), learner.keys(s.seed, s.step)[0]), state)
    traced = jax.make_jaxpr(learner.update)(state, batch).jaxpr
    used, _ = partial_eval.dce_jaxpr(traced, [True] * len(traced.outvars))
    assert work(of, DIMENSIONS) == pytest.approx(products(used), rel=0.3)


def test_every_part_has_its_work_listed():
    assert {name for axis in AXES for name in names(axis)} == set(PASSES)
