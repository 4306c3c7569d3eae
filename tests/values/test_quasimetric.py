"""QRL's losses against an independent statement in NumPy, and who is trained by which."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import walk
from mvl.batches import BatchRequest, GoalMix
from mvl.data.goals import on_device, sample
from mvl.errors import UsageError
from mvl.nets.mlp import apply_ensemble, apply_mlp
from mvl.types import Shapes
from mvl.values.quasimetric import Quasimetric
from values.by_hand import as_told, told_walk

COUNT = 12
MIX, LOG_MULTIPLIER = 0.4, 0.7


def no_policy(states, goals):
    raise AssertionError("QRL does not ask the policy")


@pytest.fixture
def part():
    return Quasimetric(latent=16, widths=(8,), slack=0.07)


def loud(params):
    """Embeddings so long that some steps exceed one, and a mix and a multiplier that differ from their start."""
    output = params.embed.output._replace(kernel=20 * params.embed.output.kernel)
    embed = params.embed._replace(output=output)
    return params._replace(embed=embed, mix=jnp.asarray(MIX), multiplier=jnp.asarray(LOG_MULTIPLIER))


@pytest.fixture
def params(part, key):
    return loud(part.init(key, Shapes(2, 2, 2, represented=2)))


@pytest.fixture
def told_params(part, key):
    return loud(part.init(key, Shapes(2, 2, 3, represented=3, plain=False)))


def batch_from(data, key):
    return sample(key, on_device(data), COUNT, (Quasimetric.goal_mix, GoalMix(0.0, 1.0, 0.0, False)), BatchRequest(), 0.9)


@pytest.fixture
def batch(key):
    return batch_from(walk(), key)


@pytest.fixture
def oracle_batch(key):
    return batch_from(told_walk(), key)


def covered(left, right) -> float:
    ends = sorted({*left.tolist(), *right.tolist()})
    over = lambda a, b: any(low <= a and b <= high for low, high in zip(left, right, strict=True))
    return sum(b - a for a, b in pairwise(ends) if over(a, b))


def distance(start, end) -> float:
    groups = [(start[at : at + 8], end[at : at + 8]) for at in (0, 8)]
    lengths = [covered(u, np.maximum(u, v)) for u, v in groups]
    share = 1 / (1 + np.exp(-MIX))
    return share * np.mean(lengths) + (1 - share) * np.max(lengths)


def embedded(params, batch):
    """u, u', the goal's and where the action leads, in double precision."""
    u, after, goal = (
        apply_mlp(params.embed, states) for states in (batch.observations, batch.next_observations, batch.value_goals.states)
    )
    guess = u + apply_mlp(params.dynamics, u, batch.actions)
    return [np.asarray(array, np.float64) for array in (u, after, goal, guess)]


def terms(params, batch):
    """L_neg, L_pos and L_dyn."""
    u, after, goal, guess = embedded(params, batch)
    spread = excess = dynamics = 0.0
    for b in range(COUNT):
        spread += 100 * np.log(1 + np.exp(5 - distance(u[b], goal[b]) / 100)) / COUNT
        excess += max(distance(u[b], after[b]) - 1, 0) ** 2 / COUNT
        dynamics += 0.5 * (distance(after[b], guess[b]) + distance(guess[b], after[b])) / COUNT
    return spread, excess, dynamics


def gradient(part, params, batch, name=None):
    """Of the loss, or of one of its terms."""

    def chosen(params):
        loss, metrics = part.loss(params, (), batch, as_told, no_policy)
        return loss if name is None else metrics[name]

    return jax.grad(chosen)(params)


def size(tree) -> float:
    return sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(tree))


def assert_close(found, expected):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-4)


def test_loss(part, params, batch):
    spread, excess, dynamics = terms(params, batch)
    assert excess > 0
    multiplier = np.exp(LOG_MULTIPLIER)
    expected = spread + multiplier * excess + multiplier * (0.07 - excess) + dynamics
    loss, metrics = part.loss(params, (), batch, as_told, no_policy)
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert float(metrics["spread"]) == pytest.approx(spread, rel=1e-5)
    assert float(metrics["excess"]) == pytest.approx(excess, rel=1e-4)
    assert float(metrics["dynamics"]) == pytest.approx(dynamics, rel=1e-5)


def test_multiplier_starts_at_one_and_the_mix_at_a_half(part, key):
    params = part.init(key, Shapes(2, 2, 2, represented=2))
    assert float(jnp.exp(params.multiplier)) == 1
    assert float(jax.nn.sigmoid(params.mix)) == 0.5
    assert part.targets(params) == ()


def test_multiplier_climbs_the_violation(part, params, batch):
    """d L / d log lambda = lambda (slack - L_pos): descending raises lambda where steps are too long."""
    _, excess, _ = terms(params, batch)
    found = gradient(part, params, batch).multiplier
    assert float(found) == pytest.approx(np.exp(LOG_MULTIPLIER) * (0.07 - excess), rel=1e-4)


def test_violation_is_weighed_by_a_constant_multiplier(part, params, batch):
    """Two multipliers differ in the gradient of all but themselves by their difference times that of L_pos."""
    zero = jnp.zeros(())
    low, high = (gradient(part, params._replace(multiplier=jnp.asarray(log)), batch) for log in (0.0, 1.0))
    found = jax.tree.map(lambda a, b: b - a, low, high)._replace(multiplier=zero)
    slope = gradient(part, params, batch, "excess")._replace(multiplier=zero)
    assert size(slope.embed) > 0
    assert_close(found, jax.tree.map(lambda leaf: (np.e - 1) * leaf, slope))


def test_whole_gradient_is_that_of_the_terms(part, params, batch):
    spread, excess, dynamics = (gradient(part, params, batch, name) for name in ("spread", "excess", "dynamics"))
    expected = jax.tree.map(lambda a, b, c: a + np.exp(LOG_MULTIPLIER) * b + c, spread, excess, dynamics)
    found = gradient(part, params, batch)
    assert_close(found.embed, expected.embed)
    assert_close(found.dynamics, expected.dynamics)
    assert size(dynamics.embed) > 0  # both ends of a step are trained by where the action leads
    assert size(dynamics.dynamics) > 0


def test_values_are_negative_distances(part, params, batch):
    u, _, goal, guess = embedded(params, batch)
    goals = batch.value_goals.vectors
    values = part.state_value(params, batch.observations, goals)
    critic = part.critic(params, batch.observations, batch.actions, goals)
    assert values.shape == critic.shape == (1, COUNT)
    for b in range(COUNT):
        assert float(values[0, b]) == pytest.approx(-distance(u[b], goal[b]), rel=1e-4)
        assert float(critic[0, b]) == pytest.approx(-distance(guess[b], goal[b]), rel=1e-4)


def test_surfaces_are_asked_about_many_neighbors_of_each_state(part, params, told_params, batch, oracle_batch, key):
    neighbors = batch.observations + jax.random.normal(key, (3, COUNT, 2))
    for chosen, drawn in ((params, batch), (told_params, oracle_batch)):
        goals = drawn.value_goals.vectors
        found = part.critic(chosen, neighbors, drawn.actions, goals)
        for k in range(3):
            assert np.allclose(found[:, k], part.critic(chosen, neighbors[k], drawn.actions, goals), rtol=1e-4, atol=1e-5)


def test_advantage_is_what_a_step_gains(part, params, told_params, batch, oracle_batch):
    """V(s', z) - V(s, z), the goal seen from where one stands; heads averaged."""
    tilted = lambda states, goals: goals + states.sum(axis=-1, keepdims=True)
    for chosen, drawn in ((params, batch), (told_params, oracle_batch)):
        goals = drawn.actor_goals.vectors
        there = part.state_value(chosen, drawn.next_observations, tilted(drawn.next_observations, goals))
        here = part.state_value(chosen, drawn.observations, tilted(drawn.observations, goals))
        expected = np.mean(np.asarray(there), axis=0) - np.mean(np.asarray(here), axis=0)
        found = part.advantage(chosen, drawn, goals, tilted)
        assert found.shape == (COUNT,)
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-4)
        assert np.abs(expected).max() > 1e-3


def test_distilled_loss(part, told_params, oracle_batch):
    """Squared error of two heads on (u, told goal) against d(s, g), beside the loss on whole states."""
    spread, _, dynamics = terms(told_params, oracle_batch)
    u, _, goal, _ = embedded(told_params, oracle_batch)
    guesses = apply_ensemble(told_params.distilled, jnp.asarray(u, jnp.float32), oracle_batch.value_goals.vectors)
    guesses = np.asarray(guesses, np.float64)[..., 0]
    assert guesses.shape == (2, COUNT)
    distilled = sum((guesses[e, b] - distance(u[b], goal[b])) ** 2 for e in range(2) for b in range(COUNT)) / COUNT
    loss, _ = part.loss(told_params, (), oracle_batch, as_told, no_policy)
    assert float(loss) == pytest.approx(spread + np.exp(LOG_MULTIPLIER) * 0.07 + dynamics + distilled, rel=1e-4)


def test_distillation_trains_the_distilled_heads_alone(part, told_params, oracle_batch):
    found = gradient(part, told_params, oracle_batch)
    without = gradient(part, told_params._replace(distilled=None), oracle_batch)
    assert size(found.distilled) > 0
    assert_close(found._replace(distilled=None), without)


def test_policy_faces_the_distilled_heads(part, told_params, oracle_batch):
    u, _, _, guess = embedded(told_params, oracle_batch)
    goals = oracle_batch.actor_goals.vectors
    values = part.state_value(told_params, oracle_batch.observations, goals)
    critic = part.critic(told_params, oracle_batch.observations, oracle_batch.actions, goals)
    for found, start in ((values, u), (critic, guess)):
        expected = -apply_ensemble(told_params.distilled, jnp.asarray(start, jnp.float32), goals)[..., 0]
        assert found.shape == (2, COUNT)
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert not np.allclose(values, critic, atol=1e-3)


@pytest.mark.parametrize("latent", [12, 7])
def test_latent_must_fill_its_groups(latent):
    with pytest.raises(UsageError, match="multiple of 8"):
        Quasimetric(latent=latent)
