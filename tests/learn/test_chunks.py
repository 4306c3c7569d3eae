"""The advantage of a chunk, and a policy that learns to answer several actions."""

import jax
import jax.numpy as jnp
import numpy as np

from conftest import small_recipe, walk
from mvl.data.goals import on_device
from mvl.learn.learner import Learner
from mvl.recipes.recipe import Learning, make_part
from mvl.runs.data import shapes_of


def made(name: str, chunk: int, **parts):
    recipe = small_recipe(name, learning=Learning(batch_size=16, chunk=chunk), **parts)
    learner = Learner(recipe, shapes_of(walk(), recipe.learning))
    state = jax.jit(learner.init)(jnp.asarray(0))
    batch = learner.sample(on_device(walk()), jax.random.key(1))
    return learner, state.params, batch


def test_the_advantage_is_the_rise_of_the_value_over_the_chunk():
    """Also for a value that has a critic of single actions."""
    for name, parts in (("gcivl", {}), ("gciql", {"policy": make_part("policy", "advantage_weighted", widths=(8,))})):
        learner, params, batch = made(name, 3, **parts)
        value, goals = learner.value_functions(params), batch.actor_goals.vectors
        here, after = (value.state_value(states, goals).mean(axis=0) for states in (batch.observations, batch.chunk.after))
        assert np.allclose(value.advantage(batch, goals, lambda states, goals: goals), after - here, atol=1e-6)


def test_a_chunk_of_one_is_no_chunk():
    learner, params, batch = made("gcivl", 1)
    assert batch.chunk is None
    states, goals, key = batch.observations, batch.actor_goals.vectors, jax.random.key(2)
    answer, act = (f(params, states, goals, key, jnp.ones(())) for f in (learner.answer, learner.act))
    assert np.array_equal(answer[:, 0], act)


def test_the_first_action_of_an_answer_is_the_policys_action():
    learner, params, batch = made("fbc", 4)
    states, goals, key = batch.observations, batch.actor_goals.vectors, jax.random.key(2)
    answer = learner.answer(params, states, goals, key, jnp.ones(()))
    assert answer.shape == (16, 4, 2)
    assert np.array_equal(answer[:, 0], learner.act(params, states, goals, key, jnp.ones(())))
