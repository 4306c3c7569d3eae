"""Behavior cloning against an independent statement in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.batches import Batch, Goals
from mvl.nets.heads import ActionHead
from mvl.nets.mlp import apply_mlp
from mvl.policies.clone import Clone
from mvl.types import PolicyView, Shapes, ValueFunctions

COUNT = 6
NOBODY = ValueFunctions(None, None, None)
VIEW = PolicyView(lambda states, goals: goals - states, lambda guesses: guesses, ActionHead())


@pytest.fixture
def batch():
    generator = np.random.default_rng(0)
    states, actions, goals, others = generator.normal(size=(4, COUNT, 2)).astype(np.float32)
    value, actor = (Goals(array, array, *np.zeros((3, COUNT))) for array in (others, goals))
    return Batch(states, actions, states, states, value, actor, jnp.asarray(0.99))


@pytest.fixture
def part():
    return Clone(widths=(8,))


@pytest.fixture
def params(part, key):
    made = part.init(key, Shapes(2, 2, 2, represented=2))
    return made._replace(output=made.output._replace(kernel=20 * made.output.kernel))


def means(params, batch):
    seen = batch.actor_goals.vectors - batch.observations
    return np.asarray(apply_mlp(params, batch.observations, seen), np.float64)


def test_loss(part, params, batch, key):
    """-mean log N(a; mean, I) over the actor's goals; no value is asked."""
    total = 0.0
    for mean, action in zip(means(params, batch), batch.actions.astype(np.float64), strict=True):
        density = np.prod([np.exp(-((a - m) ** 2) / 2) / np.sqrt(2 * np.pi) for m, a in zip(mean, action, strict=True)])
        total -= np.log(density) / COUNT
    loss, _ = part.loss(params, NOBODY, batch, VIEW, key)
    assert float(loss) == pytest.approx(total, rel=1e-5)
    assert part.needs == frozenset()


def test_acting(part, params, batch):
    goals = batch.actor_goals.vectors
    at = lambda temperature, seed=0: np.asarray(
        part.act(params, batch.observations, goals, VIEW, jax.random.key(seed), jnp.asarray(temperature))
    )
    mean = means(params, batch)
    assert (np.abs(mean) > 1).any()
    assert np.allclose(at(0.0), np.clip(mean, -1, 1), atol=1e-6)
    assert not np.allclose(at(1.0), at(1.0, seed=1))
    assert np.abs(at(9.0)).max() == 1
