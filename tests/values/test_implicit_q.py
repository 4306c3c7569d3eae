"""GCIQL's losses against an independent statement in NumPy, and who is trained by which."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import walk
from mvl.batches import BatchRequest, GoalMix
from mvl.data.goals import on_device, sample
from mvl.nets.mlp import apply_ensemble
from mvl.types import Shapes
from mvl.values.implicit_q import ImplicitQ

COUNT, DISCOUNT, EXPECTILE = 16, 0.9, 0.8


def no_policy(states, goals):
    raise AssertionError("GCIQL does not ask the policy")


def tilted(states, goals):
    """A goal that looks different from different states."""
    return goals + 0.5 * states


@pytest.fixture
def part():
    return ImplicitQ(expectile=EXPECTILE, widths=(8,))


@pytest.fixture
def params(part, key):
    return part.init(key, Shapes(2, 2, 2, represented=2))


@pytest.fixture
def copies(part):
    return part.init(jax.random.key(7), Shapes(2, 2, 2, represented=2)).critic


@pytest.fixture
def batch(key):
    return sample(key, on_device(walk()), COUNT, (GoalMix(), GoalMix(0.0, 1.0, 0.0, False)), BatchRequest(), DISCOUNT)


def outputs(mlp, *inputs):
    return np.asarray(apply_ensemble(mlp, *inputs), np.float64)[..., 0]


def size(tree) -> float:
    return sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(tree))


def test_loss(part, params, copies, batch):
    """V by expectiles towards the smaller copy, both critics towards r + discount m V(s')."""
    here, there, told = batch.observations, batch.next_observations, batch.value_goals.vectors
    rewards, masks = (np.asarray(x, np.float64) for x in (batch.value_goals.rewards, batch.value_goals.masks))
    assert set(rewards.tolist()) == {0.0, -1.0}
    seen = tilted(here, told)
    values, next_values = outputs(params.value, here, seen)[0], outputs(params.value, there, tilted(there, told))[0]
    critics, slow = outputs(params.critic, here, seen, batch.actions), outputs(copies, here, seen, batch.actions)
    expectile = critic = 0.0
    signs = set()
    for b in range(COUNT):
        q = min(slow[0, b], slow[1, b])
        signs.add(q >= values[b])
        expectile += (EXPECTILE if q >= values[b] else 1 - EXPECTILE) * (q - values[b]) ** 2 / COUNT
        y = rewards[b] + DISCOUNT * masks[b] * next_values[b]
        critic += ((critics[0, b] - y) ** 2 + (critics[1, b] - y) ** 2) / COUNT
    assert signs == {True, False}
    loss, metrics = part.loss(params, copies, batch, tilted, no_policy)
    assert float(metrics["expectile"]) == pytest.approx(expectile, rel=1e-4)
    assert float(metrics["critic"]) == pytest.approx(critic, rel=1e-4)
    assert float(loss) == pytest.approx(expectile + critic, rel=1e-4)


def test_one_value_two_critics_and_copies_of_these_alone(part, params, batch):
    goals = batch.value_goals.vectors
    assert part.state_value(params, batch.observations, goals).shape == (1, COUNT)
    critics = part.critic(params, batch.observations, batch.actions, goals)
    assert critics.shape == (2, COUNT)
    assert not np.allclose(critics[0], critics[1], atol=1e-2)
    assert part.targets(params) is params.critic


def test_the_larger_copy_does_not_matter(part, params, copies, batch):
    """Raising one copy far above the other makes the value follow the other alone."""
    raised = lambda head: copies._replace(output=copies.output._replace(bias=copies.output.bias.at[head].add(100.0)))
    seen = tilted(batch.observations, batch.value_goals.vectors)
    values = outputs(params.value, batch.observations, seen)[0]
    for head in range(2):
        _, metrics = part.loss(params, raised(1 - head), batch, tilted, no_policy)
        error = outputs(copies, batch.observations, seen, batch.actions)[head] - values
        expected = np.mean([(EXPECTILE if e >= 0 else 1 - EXPECTILE) * e**2 for e in error])
        assert float(metrics["expectile"]) == pytest.approx(expected, rel=1e-4)


def test_each_loss_trains_its_own_network(part, params, copies, batch):
    by = lambda name: jax.grad(lambda p: part.loss(p, copies, batch, tilted, no_policy)[1][name])(params)
    expectile, critic = by("expectile"), by("critic")
    assert size(expectile.value) > 0
    assert size(expectile.critic) == 0
    assert size(critic.critic) > 0
    assert size(critic.value) == 0


def test_goals_inside_targets_are_constant(part, params, copies, batch):
    """A representation is trained by the goal in V(s, z) and Q(s, a, z), not by those of the copies or of the next state."""
    told = batch.value_goals.vectors

    def by(name):
        def loss(here, there):
            at = lambda states, goals: jnp.where((states == batch.observations).all(), here, there)
            return part.loss(params, copies, batch, at, no_policy)[1][name]

        return jax.grad(loss, argnums=(0, 1))(told, told)

    for name in ("expectile", "critic"):
        here, there = by(name)
        assert size(here) > 0
        assert size(there) == 0

    def of_copies(scale):
        """Only V's own goal moves here: the error against a constant q has exactly this slope."""
        values = apply_ensemble(params.value, batch.observations, scale * told)[0, :, 0]
        q = jnp.asarray(outputs(copies, batch.observations, told, batch.actions).min(axis=0))
        return (jnp.where(q >= values, EXPECTILE, 1 - EXPECTILE) * (q - values) ** 2).mean()

    through = lambda scale: part.loss(params, copies, batch, lambda states, goals: scale * goals, no_policy)[1]["expectile"]
    assert float(jax.grad(through)(1.0)) == pytest.approx(float(jax.grad(of_copies)(1.0)), rel=1e-4)


def test_advantage_is_the_smaller_critic_above_the_value(part, params, batch):
    goals = batch.actor_goals.vectors
    seen = tilted(batch.observations, goals)
    critics = outputs(params.critic, batch.observations, seen, batch.actions)
    values = outputs(params.value, batch.observations, seen)[0]
    expected = [min(critics[:, b]) - values[b] for b in range(COUNT)]
    found = part.advantage(params, batch, goals, tilted)
    assert found.shape == (COUNT,)
    assert np.allclose(found, expected, atol=1e-4)
