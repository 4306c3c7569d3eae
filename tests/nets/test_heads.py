"""Action heads against numbers by hand: continuous, two levels, several levels, and all of them in one action."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.batches import ActionChunk, Batch
from mvl.nets.distributions import bounded_normal, unit_normal_log_prob
from mvl.nets.heads import ActionHead

MIXED = ActionHead((0, 0, 2, 3, 0))
ACTIONS = np.array([[0.5, -1.0, 1, 2, 0.1], [0.0, 0.2, 0, 0, -0.3]], np.float32)
VECTORS = np.array([[0.5, -1.0, 1, 0, 0, 1, 0.1], [0.0, 0.2, -1, 1, 0, 0, -0.3]], np.float32)
OUTPUTS = np.array([[0.4, -0.8, 2.0, 0.1, 0.2, 0.3, 3.0], [0.0, 0.0, 1.0, -1.0, 0.0, 0.5, 0.0]], np.float32)


def logged(actions) -> Batch:
    return Batch(None, jnp.asarray(actions), None, None, None, None, None)


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum()


def test_indices_become_signs_and_one_hot_vectors_and_back():
    assert np.array_equal(MIXED.to_vectors(jnp.asarray(ACTIONS)), VECTORS)
    assert np.array_equal(MIXED.from_vectors(jnp.asarray(VECTORS)), ACTIONS)
    assert len(MIXED.parts) == 4  # neighboring continuous dimensions are one


def test_log_probabilities_by_hand():
    normal = -0.5 * (0.1**2 + 0.2**2 + 2.9**2 + 3 * np.log(2 * np.pi))
    first = normal + np.log(1 / (1 + np.exp(-2.0))) + np.log(softmax([0.1, 0.2, 0.3])[2])
    normal = -0.5 * (0.2**2 + 0.3**2 + 3 * np.log(2 * np.pi))
    second = normal + np.log(1 / (1 + np.exp(1.0))) + np.log(softmax([-1.0, 0.0, 0.5])[0])
    assert MIXED.log_prob(OUTPUTS, logged(VECTORS)) == pytest.approx([first, second], rel=1e-6)


def test_the_error_is_squared_or_the_share_of_wrong_levels():
    squares = 0.1**2 + 0.2**2 + 2.9**2 + 0.2**2 + 0.3**2
    wrong = 2  # both discrete dimensions of the second row
    assert float(MIXED.error(OUTPUTS, logged(VECTORS))) == pytest.approx((squares + wrong) / 10)


def test_the_expected_action_is_the_mean_of_the_vectors():
    means = [0.4, -0.8, np.tanh(1.0), *softmax([0.1, 0.2, 0.3]), 1.0]  # the last is clipped
    assert MIXED.expected(jnp.asarray(OUTPUTS))[0] == pytest.approx(means, rel=1e-6)


def test_without_temperature_the_most_likely_action_is_taken(key):
    cold = MIXED.sample(key, OUTPUTS, jnp.asarray(0.0))
    assert np.allclose(cold[0], [0.4, -0.8, 1, 0, 0, 1, 1.0])
    assert np.allclose(cold[1], [0.0, 0.0, 1, 0, 0, 1, 0.0])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_levels_are_drawn_from_the_softened_logits(temperature, key):
    outputs = jnp.tile(OUTPUTS[0], (20_000, 1))
    drawn = MIXED.sample(key, outputs, jnp.asarray(temperature)).mean(axis=0)
    assert drawn[2] == pytest.approx(np.tanh(2.0 / temperature / 2), abs=0.03)
    assert np.allclose(drawn[3:6], softmax(OUTPUTS[0, 3:6] / temperature), atol=0.02)


def test_a_continuous_space_is_a_unit_normal_bit_for_bit(key):
    head, outputs, actions = ActionHead(), *jax.random.normal(key, (2, 64, 3))
    batch = logged(actions)
    assert head.with_vectors(batch) is batch
    assert np.array_equal(head.log_prob(outputs, batch), unit_normal_log_prob(outputs, actions))
    assert np.array_equal(head.sample(key, outputs, jnp.ones(())), bounded_normal(key, outputs, jnp.ones(())))
    assert np.array_equal(head.error(outputs, batch), jnp.square(outputs - actions).mean())


def test_steps_after_the_end_of_an_episode_do_not_count():
    """Two chunks of two actions, the second cut after its first."""
    head, actions, outputs = ActionHead((0, 2), 2), np.zeros((2, 2, 2), np.float32), np.ones((2, 4), np.float32)
    batch = logged(np.zeros((2, 2)))._replace(chunk=ActionChunk(jnp.asarray(actions), jnp.asarray([[1, 1], [1, 0]]), None))
    batch = head.with_vectors(batch)
    each = -0.5 - 0.5 * np.log(2 * np.pi) - np.log(1 + np.exp(1.0))  # the level is -1, its logit 1
    assert head.log_prob(jnp.asarray(outputs), batch) == pytest.approx([each, each / 2], rel=1e-6)
    assert float(head.error(jnp.asarray(outputs), batch)) == pytest.approx(1.0)
    assert head.logged(batch).tolist() == 2 * [[0, -1, 0, -1]]
    assert float(head.mean(jnp.asarray([[1.0, 2, 3, 4], [5, 6, 7, 8]]), batch)) == pytest.approx(21 / 6)
    assert head.sample(jax.random.key(0), jnp.asarray(outputs), jnp.zeros(())).shape == (2, 2, 2)
