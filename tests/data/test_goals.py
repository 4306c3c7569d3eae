"""Goal streams against their specification: frequencies, offsets, edges, rewards."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.batches import BatchRequest, GoalMix
from mvl.data.dataset import Dataset
from mvl.data.goals import ahead_geometric, ahead_uniform, draw_goal_rows, draw_rows, goals_at, on_device, sample
from mvl.errors import UsageError

MANY = 40_000
ROWS = 1001


def long_data():
    """Two episodes of a thousand transitions; observations are row numbers."""
    observations = np.arange(2 * ROWS, dtype=np.float32)[:, None]
    terminals = np.arange(2 * ROWS) % ROWS == ROWS - 1
    return on_device(Dataset.from_arrays(observations, np.zeros((2 * ROWS, 1)), terminals))


def test_shares_of_current_trajectory_and_random_goals(key):
    data = long_data()
    rows = jnp.full(MANY, 1100)  # in the second episode, so a goal in the first can only be random
    goals = np.asarray(draw_goal_rows(key, data, rows, GoalMix(0.2, 0.5, 0.3), 0.99))
    assert np.mean(goals == 1100) == pytest.approx(0.2 + 0.3 / 2000, abs=0.01)
    assert np.mean(goals < ROWS) == pytest.approx(0.3 / 2, abs=0.01)
    assert np.mean((goals > 1100) & (goals <= 1100 + 100)) > 0.5 * 0.6  # geometric goals are near


def test_geometric_offsets_start_at_one_and_have_mean_one_over_one_minus_discount(key):
    offsets = np.asarray(ahead_geometric(key, jnp.zeros(MANY, jnp.int32), jnp.full(MANY, 10**6), 0.99))
    assert offsets.min() == 1
    assert offsets.mean() == pytest.approx(100, rel=0.02)
    assert np.mean(offsets == 1) == pytest.approx(0.01, abs=0.002)


def test_geometric_goals_stop_at_the_final_row(key):
    assert set(np.asarray(ahead_geometric(key, jnp.full(100, 7), jnp.full(100, 8), 0.99)).tolist()) == {8}


def test_uniform_goals_cover_the_rest_of_the_episode(key):
    goals = np.asarray(ahead_uniform(key, jnp.full(MANY, 4), jnp.full(MANY, 8)))
    shares = np.bincount(goals, minlength=9)[5:] / MANY  # rounding gives the ends half a share
    assert shares == pytest.approx([1 / 6, 1 / 3, 1 / 3, 1 / 6], abs=0.01)


def test_uniform_goals_are_exact_in_large_datasets(key):
    row, final = 99_999_990, 99_999_999  # beyond what float32 can count
    goals = np.asarray(ahead_uniform(key, jnp.full(1000, row), jnp.full(1000, final)))
    assert goals.min() == row + 1
    assert goals.max() == final


@pytest.mark.parametrize("geometric", [True, False])
def test_at_the_last_transition_the_trajectory_goal_is_the_state_itself(key, geometric):
    data = long_data()
    rows = jnp.full(50, ROWS - 2)
    goals = draw_goal_rows(key, data, rows, GoalMix(0.0, 1.0, 0.0, geometric), 0.99)
    drawn = goals_at(data, rows, goals)
    assert set(np.asarray(goals).tolist()) == {ROWS - 2}
    assert set(np.asarray(drawn.rewards).tolist()) == {0.0}
    assert set(np.asarray(drawn.masks).tolist()) == {0.0}


def test_current_alone_always_gives_the_state_itself(key):
    rows = jnp.arange(100)
    assert (draw_goal_rows(key, long_data(), rows, GoalMix(1.0, 0.0, 0.0), 0.99) == rows).all()


def test_last_observation_is_never_drawn(key):
    data = long_data()
    rows = draw_rows(key, data.transitions, MANY)
    goals = draw_goal_rows(key, data, rows, GoalMix(0.0, 0.5, 0.5, geometric=False), 0.99)
    for drawn in (rows, goals):
        assert not np.isin(np.asarray(drawn), [ROWS - 1, 2 * ROWS - 1]).any()


def test_reward_and_mask_go_by_row_not_by_equal_states():
    data = on_device(Dataset.from_arrays(np.ones((3, 1)), np.zeros((3, 1)), [0, 0, 1]))
    drawn = goals_at(data, jnp.array([0, 1]), jnp.array([0, 0]))
    assert drawn.rewards.tolist() == [0.0, -1.0]
    assert drawn.masks.tolist() == [0.0, 1.0]


def test_batches_are_jitted_reproducible_and_consistent(key):
    data = long_data()
    draw = jax.jit(
        partial(sample, count=256, mixes=(GoalMix(), GoalMix(0.0, 1.0, 0.0, False)), request=BatchRequest(), discount=0.99)
    )
    batch, again = draw(key, data), draw(key, data)
    assert all((a == b).all() for a, b in zip(jax.tree.leaves(batch), jax.tree.leaves(again), strict=True))
    assert (batch.next_observations == batch.observations + 1).all()
    assert (batch.actor_goals.states >= batch.observations).all()
    assert float(batch.discount) == pytest.approx(0.99)
    reached = batch.value_goals.states == batch.observations
    assert (batch.value_goals.rewards == jnp.where(reached[:, 0], 0.0, -1.0)).all()


def test_streams_are_drawn_independently(key):
    future = GoalMix(0.0, 1.0, 0.0, geometric=False)
    batch = sample(key, long_data(), 512, (future, future), BatchRequest(), 0.99)
    assert np.mean(np.asarray(batch.value_goals.states == batch.actor_goals.states)) < 0.2


def test_shares_must_sum_to_one():
    with pytest.raises(UsageError, match="sum to 1"):
        GoalMix(0.5, 0.5, 0.5)
