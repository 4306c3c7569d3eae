"""CRL's critic and loss against an independent statement in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import walk
from mvl.batches import BatchRequest, GoalMix
from mvl.data.goals import on_device, sample
from mvl.nets.mlp import apply_ensemble
from mvl.types import Shapes
from mvl.values.contrastive import Contrastive

COUNT, LATENT = 12, 5


def no_policy(states, goals):
    raise AssertionError("CRL does not ask the policy")


def doubled(states, goals):
    return 2 * goals


@pytest.fixture
def part():
    return Contrastive(latent=LATENT, widths=(8,))


@pytest.fixture
def params(part, key):
    return part.init(key, Shapes(2, 2, 2, represented=2))


@pytest.fixture
def batch(key):
    return sample(key, on_device(walk()), COUNT, (Contrastive.goal_mix, GoalMix(0.0, 1.0, 0.0, False)), BatchRequest(), 0.9)


def logits(params, batch, goals):
    """phi_e([s_i; a_i]) . psi_e(z_j) / sqrt(L), summed by hand."""
    phi = np.asarray(apply_ensemble(params.action, batch.observations, batch.actions), np.float64)
    psi = np.asarray(apply_ensemble(params.goal, goals), np.float64)
    found = np.zeros((2, COUNT, COUNT))
    for head, i, j in np.ndindex(found.shape):
        found[head, i, j] = sum(phi[head, i, n] * psi[head, j, n] for n in range(LATENT)) / LATENT**0.5
    return found


def test_loss(part, params, batch):
    """Binary cross-entropy of every pair and both heads; a state and action belong to their own goal alone."""
    found = logits(params, batch, 2 * batch.value_goals.vectors)
    total = 0.0
    for head, i, j in np.ndindex(found.shape):
        probability = 1 / (1 + np.exp(-found[head, i, j]))
        total -= np.log(probability if i == j else 1 - probability)
    loss, metrics = part.loss(params, (), batch, doubled, no_policy)
    assert float(loss) == pytest.approx(total / (2 * COUNT**2), rel=1e-4)
    own = [found.mean(axis=0)[i].argmax() == i for i in range(COUNT)]
    assert float(metrics["accuracy"]) == pytest.approx(np.mean(own))


@pytest.mark.parametrize("latent", [4, 9])
def test_products_are_divided_by_the_root_of_their_length(latent, key, batch):
    """Embeddings of ones everywhere: L / sqrt(L)."""
    part = Contrastive(latent=latent, widths=(8,))
    ones = lambda mlp: mlp._replace(output=mlp.output._replace(kernel=0 * mlp.output.kernel, bias=0 * mlp.output.bias + 1))
    params = part.init(key, Shapes(2, 2, 2, represented=2))
    params = params._replace(action=ones(params.action), goal=ones(params.goal))
    found = part.critic(params, batch.observations, batch.actions, batch.value_goals.vectors)
    assert np.allclose(found, latent**0.5)
    loss, _ = part.loss(params, (), batch, doubled, no_policy)
    own, others = np.log(1 + np.exp(-(latent**0.5))), np.log(1 + np.exp(latent**0.5))
    assert float(loss) == pytest.approx((own + (COUNT - 1) * others) / COUNT, rel=1e-5)


def test_critic_is_the_diagonal_of_the_logits(part, params, batch):
    goals = batch.value_goals.vectors
    found = part.critic(params, batch.observations, batch.actions, goals)
    assert found.shape == (2, COUNT)
    every = logits(params, batch, goals)
    for head, i in np.ndindex(found.shape):
        assert float(found[head, i]) == pytest.approx(every[head, i, i], abs=1e-4)
    _, metrics = part.loss(params, (), batch, lambda states, goals: goals, no_policy)
    assert float(metrics["paired"]) == pytest.approx(float(found.mean()), abs=1e-5)


def test_critic_is_asked_about_many_neighbors_of_each_state(part, params, batch, key):
    goals = batch.value_goals.vectors
    neighbors = batch.observations + jax.random.normal(key, (3, COUNT, 2))
    found = part.critic(params, neighbors, batch.actions, goals)
    assert found.shape == (2, 3, COUNT)
    for k in range(3):
        assert np.allclose(found[:, k], part.critic(params, neighbors[k], batch.actions, goals), atol=1e-5)


def test_neither_copies_nor_rewards_are_used(part, params, batch):
    assert part.targets(params) == ()
    paid = batch._replace(
        value_goals=batch.value_goals._replace(rewards=jnp.full(COUNT, jnp.nan), masks=jnp.full(COUNT, jnp.nan))
    )
    assert part.loss(params, (), paid, doubled, no_policy)[0] == part.loss(params, (), batch, doubled, no_policy)[0]


def test_goals_are_trained_through_their_representation(part, params, batch):
    through = lambda scale: part.loss(params, (), batch, lambda states, goals: scale * goals, no_policy)[0]
    assert float(jax.grad(through)(1.0)) != 0
