"""HIQL's two policies against an independent statement in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.batches import Batch, Goals, Waypoints
from mvl.nets.heads import ActionHead
from mvl.nets.mlp import apply_mlp
from mvl.policies.hierarchical import Hierarchical
from mvl.types import PolicyView, Shapes, ValueFunctions

COUNT, SEEN = 10, 4
LOW, HIGH = 2.0, 1.5
SPREAD = np.random.default_rng(4).normal(size=(4, SEEN)).astype(np.float32)


def project(guesses):
    return guesses / jnp.linalg.norm(guesses, axis=-1, keepdims=True) * 2.0


def encode(states, goals):
    """A goal as it looks from here, on a sphere of radius 2."""
    return project(jnp.concatenate([states, goals], axis=-1) @ SPREAD)


def encode_by_hand(state, goal):
    point = np.concatenate([state, goal]).astype(np.float64) @ SPREAD
    return 2 * point / np.sqrt((point**2).sum())


VIEW = PolicyView(encode, project, ActionHead())


def advantage(batch, goals, encode):
    """Depends on the goal and on how it is seen, and is large for some."""
    return 3 * goals.sum(-1) + encode(batch.observations, goals)[..., 0]


def state_value(states, seen):
    """Two heads that do not agree."""
    return jnp.stack([2 * states.sum(-1) + seen[..., 0], states[..., 0] * seen[..., 1] - 1.0])


def value_by_hand(state, goal):
    seen = encode_by_hand(state, goal)
    return 0.5 * ((2 * state.sum() + seen[0]) + (state[0] * seen[1] - 1.0))


JUDGE = ValueFunctions(advantage, None, state_value)


@pytest.fixture
def batch():
    generator = np.random.default_rng(0)
    states, actions, goals, others, near, onward, there = generator.normal(size=(7, COUNT, 2)).astype(np.float32)
    value, actor = (Goals(array, array, *np.zeros((3, COUNT))) for array in (others, goals))
    made = Batch(states, actions, states, states, value, actor, jnp.asarray(0.99))
    return made._replace(waypoints=Waypoints(near, onward, there))  # told and true places differ, as with an oracle


@pytest.fixture
def part():
    return Hierarchical(low_alpha=LOW, high_alpha=HIGH, subgoal_steps=7, widths=(8,))


@pytest.fixture
def params(part, key):
    louder = lambda mlp: mlp._replace(output=mlp.output._replace(kernel=10 * mlp.output.kernel))
    return jax.tree.map(louder, part.init(key, Shapes(2, 2, 2, represented=SEEN)), is_leaf=lambda node: hasattr(node, "output"))


def log_prob(mean, point):
    return -0.5 * ((np.asarray(mean, np.float64) - point) ** 2).sum() - 0.5 * len(point) * np.log(2 * np.pi)


def cut(score):
    return min(np.exp(score), 100.0)


def test_low_loss(part, params, batch, key):
    """The logged action towards the near waypoint, weighed by the advantage towards the same."""
    total, weights = 0.0, []
    for b in range(COUNT):
        state, near = batch.observations[b], batch.waypoints.near[b]
        seen = encode_by_hand(state, near)
        weights.append(cut(LOW * (3 * float(near.sum()) + seen[0])))
        mean = apply_mlp(params.low, jnp.asarray(state), jnp.asarray(seen, jnp.float32))
        total -= weights[-1] * log_prob(mean, batch.actions[b]) / COUNT
    assert max(weights) == 100 > min(weights)
    _, metrics = part.loss(params, JUDGE, batch, VIEW, key)
    assert float(metrics["low"]) == pytest.approx(total, rel=1e-4)
    assert float(metrics["low_weight"]) == pytest.approx(np.mean(weights), rel=1e-4)


def test_high_loss(part, params, batch, key):
    """The waypoint on the way, as seen from here, given the goal as told; weighed by what being there gains."""
    total, weights = 0.0, []
    for b in range(COUNT):
        state, goal = batch.observations[b], batch.actor_goals.vectors[b]
        there = batch.waypoints.onward_states[b]
        weights.append(cut(HIGH * (value_by_hand(there, goal) - value_by_hand(state, goal))))
        mean = apply_mlp(params.high, jnp.asarray(state), jnp.asarray(goal))
        target = encode_by_hand(state, batch.waypoints.onward[b])
        assert np.linalg.norm(target) == pytest.approx(2.0)
        total -= weights[-1] * log_prob(mean, target) / COUNT
    assert max(weights) == 100 > min(weights)
    _, metrics = part.loss(params, JUDGE, batch, VIEW, key)
    assert float(metrics["high"]) == pytest.approx(total, rel=1e-4)
    assert float(metrics["high_weight"]) == pytest.approx(np.mean(weights), rel=1e-4)


def test_loss_is_the_sum_and_each_trains_its_own(part, params, batch, key):
    loss, metrics = part.loss(params, JUDGE, batch, VIEW, key)
    assert float(loss) == pytest.approx(float(metrics["low"] + metrics["high"]), rel=1e-5)
    size = lambda tree: sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(tree))
    for own, other in (("low", "high"), ("high", "low")):
        found = jax.grad(lambda p, own=own: part.loss(p, JUDGE, batch, VIEW, key)[1][own])(params)
        assert size(getattr(found, own)) > 0
        assert size(getattr(found, other)) == 0


def test_acting_settles_what_the_high_policy_says(part, params, batch, key):
    states, goals = batch.observations, batch.actor_goals.vectors
    found = part.act(params, states, goals, VIEW, key, jnp.zeros(()))
    guesses = np.asarray(apply_mlp(params.high, states, goals), np.float64)
    assert np.abs(np.linalg.norm(guesses, axis=1) - 2).mean() > 0.5  # so that settling matters
    for b in range(COUNT):
        subgoal = 2 * guesses[b] / np.linalg.norm(guesses[b])
        mean = np.asarray(apply_mlp(params.low, states[b], jnp.asarray(subgoal, jnp.float32)))
        assert np.allclose(found[b], np.clip(mean, -1, 1), atol=1e-5)


def test_only_heat_is_random_and_actions_stay_in_range(part, params, batch):
    at = lambda temperature, seed: np.asarray(
        part.act(params, batch.observations, batch.actor_goals.vectors, VIEW, jax.random.key(seed), jnp.asarray(temperature))
    )
    assert (at(0.0, 0) == at(0.0, 1)).all()
    assert not np.allclose(at(1.0, 0), at(1.0, 1))
    assert np.abs(at(9.0, 0)).max() == 1


def test_high_policy_draws_too(part, params, batch, key):
    """With heat the sub-goal itself is drawn before it is settled."""
    settled = []
    view = PolicyView(encode, lambda guesses: settled.append(np.asarray(guesses)) or project(guesses), ActionHead())
    for temperature in (0.0, 1.0):
        part.act(params, batch.observations, batch.actor_goals.vectors, view, key, jnp.asarray(temperature))
    assert np.allclose(settled[0], apply_mlp(params.high, batch.observations, batch.actor_goals.vectors), atol=1e-5)
    assert np.std(settled[1] - settled[0]) == pytest.approx(1.0, abs=0.35)


def test_waypoints_lie_as_far_ahead_as_asked(part):
    assert part.request.waypoint_steps == 7
