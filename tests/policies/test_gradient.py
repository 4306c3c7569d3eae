"""The policy gradient (DDPG+BC) against an independent statement in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.batches import Batch, Goals
from mvl.nets.heads import ActionHead
from mvl.nets.mlp import apply_mlp
from mvl.policies.gradient import Gradient
from mvl.types import PolicyView, Shapes, ValueFunctions

COUNT, ALPHA = 12, 0.3
SHAPES = Shapes(2, 2, 2, represented=2)
VIEW = PolicyView(lambda states, goals: goals - states, lambda guesses: guesses, ActionHead())
SLOPES = np.array([[3.0, -2.0], [-1.0, 4.0]])
"""What each head of the hand-made critic says of an action."""


@pytest.fixture
def batch():
    generator = np.random.default_rng(0)
    states, actions, goals = generator.normal(size=(3, COUNT, 2)).astype(np.float32)
    drawn = Goals(goals, goals, *np.zeros((3, COUNT)))
    return Batch(states, np.clip(actions, -1, 1), states, states, drawn, drawn, jnp.asarray(0.99))


@pytest.fixture
def part():
    return Gradient(alpha=ALPHA, widths=(8,))


@pytest.fixture
def params(part, key):
    """Wide enough that some means leave the range of actions on either side."""
    made = part.init(key, SHAPES)
    return made._replace(output=made.output._replace(kernel=20 * made.output.kernel))


def critic(states, actions, goals):
    """Two planes over actions, their level set by state and goal."""
    level = jnp.sin(states.sum(-1)) + (goals * jnp.array([1.0, -2.0])).sum(-1)
    return jnp.stack([actions @ jnp.asarray(slope) + sign * level for slope, sign in zip(SLOPES, (1, -1), strict=True)])


JUDGE = ValueFunctions(None, critic, None)


def means(params, batch):
    return np.asarray(
        apply_mlp(params, batch.observations, VIEW.encode(batch.observations, batch.actor_goals.vectors)), np.float64
    )


def worths(mean, batch):
    """q of each sample, and which head it comes from."""
    found = []
    for b in range(COUNT):
        state, goal = batch.observations[b].astype(np.float64), batch.actor_goals.vectors[b].astype(np.float64)
        seen, action = goal - state, np.clip(mean[b], -1, 1)
        level = np.sin(state.sum()) + seen[0] - 2 * seen[1]
        heads = [SLOPES[0] @ action + level, SLOPES[1] @ action - level]
        found.append((min(heads), int(np.argmin(heads))))
    return found


def log_prob(mean, action):
    return sum(-0.5 * (a - m) ** 2 - 0.5 * np.log(2 * np.pi) for m, a in zip(mean, action, strict=True))


def test_loss(part, params, batch, key):
    mean = means(params, batch)
    assert (np.abs(mean) > 1).any()
    assert (np.abs(mean) < 1).any()
    found = worths(mean, batch)
    assert {head for _, head in found} == {0, 1}
    q = [worth for worth, _ in found]
    likely = np.mean([log_prob(mean[b], batch.actions[b]) for b in range(COUNT)])
    expected = -np.mean(q) / (np.mean(np.abs(q)) + 1e-6) - ALPHA * likely
    loss, metrics = part.loss(params, JUDGE, batch, VIEW, key)
    assert float(loss) == pytest.approx(expected, rel=1e-4)
    assert float(metrics["worth"]) == pytest.approx(np.mean(q), rel=1e-4)


def test_gradient_by_the_mean(part, params, batch, key):
    """The scale is constant, the smaller head alone is climbed, and a critic says nothing beyond the range of actions."""
    mean = means(params, batch)
    found = worths(mean, batch)
    scale = np.mean([abs(worth) for worth, _ in found]) + 1e-6
    slope = np.zeros(2)
    for b in range(COUNT):
        inside = np.abs(mean[b]) < 1
        slope -= inside * SLOPES[found[b][1]] / scale / COUNT
        slope -= ALPHA * (batch.actions[b] - mean[b]) / COUNT
    gradient = jax.grad(lambda p: part.loss(p, JUDGE, batch, VIEW, key)[0])(params)
    assert np.allclose(gradient.output.bias, slope, rtol=1e-4, atol=1e-5)


def test_critic_is_asked_about_actions_in_range(part, params, batch, key):
    asked = []

    def spy(states, actions, goals):
        asked.append(np.asarray(actions))
        return critic(states, actions, goals)

    part.loss(params, ValueFunctions(None, spy, None), batch, VIEW, key)
    (actions,) = asked
    assert np.allclose(actions, np.clip(means(params, batch), -1, 1), atol=1e-6)


def test_scale_of_the_critic_does_not_matter(part, params, batch, key):
    """But for its sign; so alpha means the same for every value."""
    scaled = lambda factor: part.loss(params, ValueFunctions(None, lambda *args: factor * critic(*args), None), batch, VIEW, key)[
        0
    ]
    assert float(scaled(1000.0)) == pytest.approx(float(scaled(1.0)), rel=1e-4)


def test_alpha_is_a_factor_on_imitation(params, batch, key):
    at = lambda alpha: float(Gradient(alpha=alpha, widths=(8,)).loss(params, JUDGE, batch, VIEW, key)[0])
    mean = means(params, batch)
    likely = np.mean([log_prob(mean[b], batch.actions[b]) for b in range(COUNT)])
    assert at(2.0) - at(0.0) == pytest.approx(-2 * likely, rel=1e-4)


def test_normalization_is_a_choice(key):
    assert Gradient(widths=(8, 8)).init(key, SHAPES).norms == ()
    assert len(Gradient(norm=True, widths=(8, 8)).init(key, SHAPES).norms) == 2


def test_acting(part, params, batch, key):
    goals = batch.actor_goals.vectors
    at = lambda temperature, seed=0: np.asarray(
        part.act(params, batch.observations, goals, VIEW, jax.random.key(seed), jnp.asarray(temperature))
    )
    assert np.allclose(at(0.0), np.clip(means(params, batch), -1, 1), atol=1e-6)
    assert not np.allclose(at(1.0), at(1.0, seed=1))
    assert np.abs(at(9.0)).max() == 1
