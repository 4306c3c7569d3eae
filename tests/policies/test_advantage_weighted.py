import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.batches import Batch, Goals
from mvl.nets.heads import ActionHead
from mvl.nets.mlp import apply_mlp
from mvl.policies.advantage_weighted import AdvantageWeighted
from mvl.types import PolicyView, Shapes, ValueFunctions


def batch(count=3):
    generator = np.random.default_rng(0)
    states, actions = generator.normal(size=(2, count, 2)).astype(np.float32)
    ones, zeros = jnp.ones((count, 2)), jnp.zeros(count)
    goals = Goals(ones, ones, zeros, zeros, zeros)
    return Batch(*map(jnp.asarray, (states, actions, states, states)), goals, goals, jnp.asarray(0.99))


VIEW = PolicyView(lambda states, goals: goals, lambda guesses: guesses, ActionHead())


@pytest.fixture
def part():
    return AdvantageWeighted(alpha=2.0, widths=(8,))


@pytest.fixture
def params(part, key):
    return part.init(key, Shapes(2, 2, 2, represented=2))


def test_loss_by_hand(part, params, key):
    """-mean min(exp(alpha A), 100) log N(a; mean, I), written once more."""
    data, advantages = batch(), np.array([-1.0, 0.5, 9.0])
    mean = np.asarray(apply_mlp(params, data.observations, data.actor_goals.vectors))
    weights = [np.exp(-2.0), np.exp(1.0), 100.0]  # exp(18) is cut to 100
    log_prob = -0.5 * ((np.asarray(data.actions) - mean) ** 2).sum(1) - np.log(2 * np.pi)
    judge = ValueFunctions(lambda batch, goals, encode: jnp.asarray(advantages), None, None)
    loss, metrics = part.loss(params, judge, data, VIEW, key)
    assert float(loss) == pytest.approx(-np.mean(weights * log_prob), rel=1e-5)
    assert float(metrics["weight"]) == pytest.approx(np.mean(weights), rel=1e-5)


def test_untrained_actions_are_small(part, params, key):
    """The last layer starts a hundred times smaller in variance."""
    actions = part.act(params, jnp.ones((50, 2)), jnp.ones((50, 2)), VIEW, key, jnp.asarray(0.0))
    assert float(jnp.abs(actions).max()) < 0.5


def test_temperature_zero_is_the_mean_and_actions_stay_in_range(part, params, key):
    states, goals = jax.random.normal(key, (2, 20, 2))
    cold = part.act(params, states, goals, VIEW, key, jnp.asarray(0.0))
    assert np.allclose(cold, apply_mlp(params, states, goals))
    hot = part.act(params, states, goals, VIEW, key, jnp.asarray(5.0))
    assert float(jnp.abs(hot).max()) == 1.0
    assert not np.allclose(cold, hot)
    loud = params._replace(output=params.output._replace(bias=jnp.full(2, 7.0)))
    assert (part.act(loud, states, goals, VIEW, key, jnp.asarray(0.0)) == 1.0).all()
