"""Flow matching: its loss with the same draws by hand, and its way from noise to an action."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.batches import Batch, Goals
from mvl.nets.heads import ActionHead
from mvl.nets.mlp import apply_mlp
from mvl.policies import flow
from mvl.policies.flow import Flow
from mvl.types import PolicyView, Shapes, ValueFunctions

COUNT, ACTIONS = 8, 3
NOBODY = ValueFunctions(None, None, None)
VIEW = PolicyView(lambda states, goals: goals - states, lambda guesses: guesses, ActionHead())


@pytest.fixture
def batch():
    generator = np.random.default_rng(0)
    states, goals, others = generator.normal(size=(3, COUNT, 2)).astype(np.float32)
    actions = generator.uniform(-1, 1, (COUNT, ACTIONS)).astype(np.float32)
    value, actor = (Goals(array, array, *np.zeros((3, COUNT))) for array in (others, goals))
    return Batch(states, actions, states, states, value, actor, jnp.asarray(0.99))


@pytest.fixture
def part():
    return Flow(flow_steps=10, widths=(8,))


@pytest.fixture
def params(part, key):
    return part.init(key, Shapes(2, ACTIONS, 2, represented=2))


def constant(params, velocity):
    """The same velocity everywhere and at all times."""
    return params._replace(output=params.output._replace(kernel=0 * params.output.kernel, bias=jnp.asarray(velocity)))


def test_loss_with_the_same_draws(part, params, batch, key):
    """mean (v - (a - x0))^2 at x_t = (1 - t) x0 + t a, over samples and dimensions; one t for each sample."""
    start_key, time_key = jax.random.split(key)
    start = np.asarray(jax.random.normal(start_key, (COUNT, ACTIONS)), np.float64)
    time = np.asarray(jax.random.uniform(time_key, (COUNT, 1)), np.float64)[:, 0]
    between = np.zeros((COUNT, ACTIONS))
    for b, n in np.ndindex(between.shape):
        between[b, n] = (1 - time[b]) * start[b, n] + time[b] * batch.actions[b, n]
    seen = batch.actor_goals.vectors - batch.observations
    inputs = np.concatenate([batch.observations, seen, between, time[:, None]], axis=1)  # in this order
    velocity = np.asarray(apply_mlp(params, jnp.asarray(inputs, jnp.float32)), np.float64)
    errors = [(velocity[b, n] - (batch.actions[b, n] - start[b, n])) ** 2 for b, n in np.ndindex(between.shape)]
    loss, _ = part.loss(params, NOBODY, batch, VIEW, key)
    assert float(loss) == pytest.approx(sum(errors) / (COUNT * ACTIONS), rel=1e-4)
    assert part.needs == frozenset()


def test_normal_start_and_uniform_time(part, params, batch, monkeypatch):
    """What the velocity is asked about, over many draws: x_t = (1 - t) x0 with a = 0, so x_t / (1 - t) is normal."""
    asked = []
    monkeypatch.setattr(flow, "apply_mlp", lambda params, states, seen, x, t: asked.append((x, t)) or jnp.zeros_like(x))
    many = jax.tree.map(lambda leaf: jnp.zeros((4000, *leaf.shape[1:])) if leaf.ndim else leaf, batch)
    part.loss(params, NOBODY, many, VIEW, jax.random.key(3))
    ((x, t),) = asked
    assert t.shape == (4000, 1)
    assert np.histogram(t, 4, (0, 1))[0] / 4000 == pytest.approx([0.25] * 4, abs=0.03)
    start = np.asarray(x / (1 - t))
    assert start.mean(0) == pytest.approx([0, 0, 0], abs=0.06)
    assert np.cov(start.T) == pytest.approx(np.eye(3), abs=0.08)


@pytest.mark.parametrize("steps", [1, 10])
def test_constant_velocity_moves_the_noise_by_itself(params, batch, key, steps):
    velocity = [0.2, -0.1, 0.05]
    part = Flow(flow_steps=steps, widths=(8,))
    start = np.asarray(jax.random.normal(key, (COUNT, ACTIONS)), np.float64)
    found = part.act(constant(params, velocity), batch.observations, batch.actor_goals.vectors, VIEW, key, jnp.zeros(()))
    assert np.allclose(found, np.clip(start + velocity, -1, 1), atol=1e-5)
    assert (np.abs(start + velocity) < 1).any()


def test_euler_steps_through_time(part, params, batch, key, monkeypatch):
    """A velocity that depends on where and when: x <- x + (2 t - x + state) / 10 at t = 0, 0.1, ..., 0.9."""
    monkeypatch.setattr(flow, "apply_mlp", lambda params, states, seen, x, t: 2 * t - x + states[..., :1])
    x = np.asarray(jax.random.normal(key, (COUNT, ACTIONS)), np.float64)
    for step in range(10):
        x = x + (2 * step / 10 - x + batch.observations[:, :1]) / 10
    found = part.act(params, batch.observations, batch.actor_goals.vectors, VIEW, key, jnp.zeros(()))
    assert np.allclose(found, np.clip(x, -1, 1), atol=1e-5)


def test_actions_stay_in_range_and_heat_does_nothing(part, params, batch):
    at = lambda params, temperature, seed=0: np.asarray(
        part.act(params, batch.observations, batch.actor_goals.vectors, VIEW, jax.random.key(seed), jnp.asarray(temperature))
    )
    assert (at(constant(params, [90.0, -90.0, 90.0]), 0.0) == [1, -1, 1]).all()
    assert (at(params, 0.0) == at(params, 1.0)).all()
    assert not np.allclose(at(params, 0.0), at(params, 0.0, seed=1))
    assert at(params, 0.0).shape == (COUNT, ACTIONS)


def test_velocity_is_normalized(params):
    assert len(params.norms) == len(params.hidden) == 1
