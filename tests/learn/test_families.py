"""The families composed: what sends gradient where, what HIQL's copies see, which surface a regularizer meets."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import small_recipe, walk
from mvl.batches import GoalMix
from mvl.data.goals import on_device
from mvl.learn.learner import Learner
from mvl.nets.mlp import apply_ensemble, apply_mlp
from mvl.regularizers.mollified import Mollified
from mvl.types import Shapes

SHAPES = Shapes(observation=2, action=2, goal=2)
FAMILIES = ["hiql", "gciql", "crl", "qrl", "trl", "tdp", "coe"]
SMALL = {"latent": 8, "subgoals": 4, "widths": (8,), "size": 4, "subgoal_steps": 5}
STEEP = Mollified(cost=0.0, samples=3)  # asks something of any surface


@cache
def learner_of(name: str) -> Learner:
    """Smaller still than other toy recipes, and regularized."""
    recipe = small_recipe(name, regularizer=STEEP)
    shrink = lambda part: replace(part, **{name: size for name, size in SMALL.items() if hasattr(part, name)})
    parts = {axis: shrink(getattr(recipe, axis)) for axis in ("representation", "value", "policy")}
    return Learner(replace(recipe, **parts), SHAPES)


@cache
def prepared(name: str):
    """A learner with its first state and a batch."""
    learner = learner_of(name)
    return learner, jax.jit(learner.init)(jnp.asarray(0)), jax.jit(learner.sample)(on_device(walk()), jax.random.key(1))


PARTS = ("representation", "value", "policy", "regularizer")


@cache
def gradients(name: str):
    """Gradient of every part's loss by all parameters; one program, asked about each part in turn."""
    learner, state, batch = prepared(name)

    def chosen(params, choice):
        _, metrics = learner.loss(params, state.targets, batch, jax.random.key(2))
        return sum(choice[part] * metrics[f"{part}/loss"] for part in PARTS)

    by = jax.jit(jax.grad(chosen))
    return {part: by(state.params, {other: float(other == part) for other in PARTS}) for part in PARTS}


def size(tree) -> float:
    return sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(tree))


@pytest.mark.parametrize("name", FAMILIES)
def test_policy_loss_trains_the_policy_alone(name):
    found = gradients(name)["policy"]
    assert size(found.policy) > 0
    assert size(found.value) == 0
    assert size(found.representation) == 0


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("part", ["value", "regularizer"])
def test_value_and_regularizer_do_not_train_the_policy(name, part):
    found = gradients(name)[part]
    assert size(found.value) > 0
    assert size(found.policy) == 0


@pytest.mark.parametrize("part", ["value", "regularizer"])
def test_subgoals_are_shaped_by_the_value_and_the_regularizer(part):
    assert size(gradients("hiql")[part].representation) > 0
    assert size(gradients("hiql")["representation"]) == 0


@pytest.mark.parametrize("name", FAMILIES)
def test_copies_are_of_what_bootstraps(name):
    """HIQL has no copy of phi, CRL and QRL no copy at all, GCIQL one of its critics alone."""
    _, state, _ = prepared(name)
    assert jax.tree.leaves(state.targets.representation) == []
    kept = {"hiql": lambda value: value, "gciql": lambda value: value.critic, "crl": lambda value: (), "qrl": lambda value: ()}
    expected = kept.get(name, lambda value: value.states)(state.params.value)
    assert jax.tree.structure(state.targets.value) == jax.tree.structure(expected)
    assert all((a == b).all() for a, b in zip(jax.tree.leaves(state.targets.value), jax.tree.leaves(expected), strict=True))


def advantage_by_copies(state, batch, representation):
    """min_e q_e - mean_e V'_e(s, z), by the copies' trunk on sub-goals as the given phi sees them."""

    def values(states):
        point = np.asarray(apply_mlp(representation, states, batch.value_goals.vectors), np.float64)
        seen = 2 * point / np.linalg.norm(point, axis=-1, keepdims=True)  # sqrt(4)
        return np.asarray(apply_ensemble(state.targets.value, states, jnp.asarray(seen, jnp.float32)), np.float64)[..., 0]

    here, there = values(batch.observations), values(batch.next_observations)
    total = 0.0
    for b in range(len(batch.observations)):
        q = [float(batch.value_goals.rewards[b]) + 0.99 * float(batch.value_goals.masks[b]) * there[e, b] for e in range(2)]
        total += min(q) - np.mean(here[:, b])
    return total / len(batch.observations)


def test_copies_of_hiql_see_through_the_current_subgoals():
    """What the value regresses on is the copies' trunk on today's phi, so it moves with phi and not with today's trunk."""
    learner, state, batch = prepared("hiql")
    targets = state.targets._replace(value=jax.tree.map(lambda leaf: 1.3 * leaf, state.targets.value))
    state = state._replace(targets=targets)
    other = learner.init(jnp.asarray(9)).params
    loss = jax.jit(lambda params: learner.loss(params, targets, batch, jax.random.key(2))[1]["value/advantage"])
    found = lambda params: float(loss(params))
    now, moved = found(state.params), found(state.params._replace(representation=other.representation))
    assert now == pytest.approx(advantage_by_copies(state, batch, state.params.representation), abs=1e-4)
    assert moved == pytest.approx(advantage_by_copies(state, batch, other.representation), abs=1e-4)
    assert abs(now - moved) > 1e-3
    assert found(state.params._replace(value=other.value)) == now


def neighbors_of(batch):
    return batch.observations + 0.3 * jax.random.normal(jax.random.key(3), (3, *batch.observations.shape))


def test_subgoals_are_seen_anew_from_every_neighbor():
    learner, state, batch = prepared("hiql")
    field = learner.field(state.params, batch, jax.random.key(2))
    rep, value = learner.recipe.representation, learner.recipe.value
    points, goals = neighbors_of(batch), batch.value_goals.vectors
    found = field.at(points, field.goals)
    assert found.shape == (2, *points.shape[:2])
    key = jax.random.key(2)
    anchored = rep.encode(state.params.representation, batch.observations, goals, key)
    for k in range(len(points)):
        anew = rep.encode(state.params.representation, points[k], goals, key)
        assert np.allclose(found[:, k], value.state_value(state.params.value, points[k], anew), atol=1e-5)
        kept = value.state_value(state.params.value, points[k], anchored)
        assert np.abs(np.asarray(found[:, k] - kept)).max() > 1e-2


@pytest.mark.parametrize("name", ["crl", "trl", "tdp", "coe"])
def test_a_critic_is_regularized_at_the_logged_action(name):
    learner, state, batch = prepared(name)
    field = learner.field(state.params, batch, jax.random.key(2))
    points = neighbors_of(batch)
    found = field.at(points, field.goals)
    critic = lambda states, actions: learner.recipe.value.critic(state.params.value, states, actions, batch.value_goals.vectors)
    assert found.shape == (2, *points.shape[:2])
    for k in range(len(points)):
        assert np.allclose(found[:, k], critic(points[k], batch.actions), atol=1e-4)
        assert not np.allclose(found[:, k], critic(points[k], batch.actions[::-1]), atol=1e-2)
    some = jnp.array([3, 1])  # a regularizer may take a part of the batch: actions follow their goals
    assert np.allclose(field.at(field.points[some], field.goals[some]), field.at(field.points, field.goals)[:, some], atol=1e-5)


@pytest.mark.parametrize("name", ["gciql", "qrl"])
def test_a_value_of_states_is_regularized_where_there_is_one(name):
    learner, state, batch = prepared(name)
    field = learner.field(state.params, batch, jax.random.key(2))
    assert field.goals.shape == batch.value_goals.vectors.shape
    expected = learner.recipe.value.state_value(state.params.value, batch.observations, batch.value_goals.vectors)
    assert np.allclose(field.at(field.points, field.goals), expected, atol=1e-5)


def representation_loss(name, **changes):
    """With rewards replaced in the named goals of the batch."""
    learner, state, batch = prepared(name)
    moved = {field: getattr(batch, field)._replace(rewards=rewards) for field, rewards in changes.items()}
    part, params = learner.recipe.representation, state.params.representation
    return float(part.loss(params, state.targets.representation, batch._replace(**moved), jax.random.key(2))[0])


def test_dual_draws_goals_of_its_own_under_crl():
    """CRL's goals never show a reward, so DUAL needs others; they are used in place of the value's."""
    learner, _, batch = prepared("crl-dual")
    assert learner.recipe.request.goals == GoalMix(0.2, 0.5, 0.3, geometric=True)
    drawn = batch.representation_goals
    assert set(np.asarray(drawn.rewards).tolist()) == {0.0, -1.0}
    assert (np.asarray(drawn.rewards == 0) == np.asarray(drawn.offsets == 0)).all()
    assert not np.array_equal(drawn.offsets, batch.value_goals.offsets)
    nine = jnp.full(16, 9.0)
    assert representation_loss("crl-dual", value_goals=nine) == representation_loss("crl-dual")
    assert representation_loss("crl-dual", representation_goals=nine) != representation_loss("crl-dual")


def test_dual_shares_the_goals_of_gcivl():
    learner, _, batch = prepared("dual")
    assert learner.recipe.request.goals is None
    assert batch.representation_goals is None
    assert representation_loss("dual", value_goals=jnp.full(16, 9.0)) != representation_loss("dual")
