"""Histories of observations: which rows they are, in memory, on disk and while acting."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.batches import BatchRequest, GoalMix
from mvl.data.dataset import Dataset
from mvl.data.goals import on_device, sample
from mvl.data.history import side_by_side, states_at, window
from mvl.data.normalization import Normalization
from mvl.data.out_of_core import Mapped
from mvl.learn.execution import Recent

LENGTHS = (4, 6)


@pytest.fixture
def data() -> Dataset:
    """Observations are the row number and its square."""
    numbers = np.arange(sum(LENGTHS), dtype=np.float32)
    return Dataset.from_arrays(
        np.stack([numbers, numbers**2], axis=1), numbers[:, None] / 10, np.isin(numbers, np.cumsum(LENGTHS) - 1)
    )


def test_no_row_of_a_window_lies_before_its_episode(data):
    rows = np.array([0, 1, 3, 4, 6])
    assert window(rows, data.first_rows[rows], 3).tolist() == [[0, 0, 0], [0, 0, 1], [1, 2, 3], [4, 4, 4], [4, 5, 6]]


def test_a_state_has_its_oldest_observation_first(data):
    assert states_at(data, np.array([5, 4]), 2).tolist() == [[4, 16, 5, 25], [4, 16, 4, 16]]
    assert states_at(data, np.array([5]), 1).tolist() == [[5, 25]]


def test_images_become_channels():
    frames = np.arange(2 * 3 * 4 * 4 * 2).reshape(2, 3, 4, 4, 2)  # (batch, frames, height, width, channels)
    joined = side_by_side(frames, 3)
    assert joined.shape == (2, 4, 4, 6)
    assert np.array_equal(joined[..., 2:4], frames[:, 1])


def test_goals_are_single_observations_and_everything_else_has_a_history(data, key):
    request = BatchRequest(windows=True, midpoints=True, waypoint_steps=2, chunk=2)
    batch = sample(key, on_device(data, history=2), 64, (GoalMix(), GoalMix()), request, 0.9)
    states = [batch.observations, batch.next_observations, batch.value_goals.states, batch.midpoints.states, batch.chunk.after]
    goals = [batch.positions, batch.value_goals.vectors, *batch.windows, batch.waypoints.near, batch.waypoints.onward]
    assert {array.shape for array in (*states, batch.waypoints.onward_states)} == {(64, 4)}
    assert {array.shape for array in goals} == {(64, 2)}
    assert np.array_equal(batch.observations[:, 2:], batch.positions)
    starts = jnp.isin(batch.positions[:, 0], jnp.asarray([0, 4]))
    assert np.array_equal(batch.observations[:, 0], batch.positions[:, 0] - jnp.where(starts, 0, 1))


def test_a_batch_read_from_disk_has_the_same_histories(data, key):
    normalization = Normalization.of(data)
    mapped = Mapped.of(data, normalization, history=3)
    request = BatchRequest(windows=True, waypoint_steps=2, chunk=3)
    draw = lambda rows: sample(key, rows, 32, (GoalMix(), GoalMix()), request, 0.9)
    batches = draw(on_device(data, normalization, history=3)), mapped.look_up(draw(mapped.rows))
    assert jax.tree.structure(batches[0]) == jax.tree.structure(batches[1])
    assert all(np.array_equal(one, other) for one, other in zip(*map(jax.tree.leaves, batches), strict=True))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_what_is_remembered_while_acting_is_what_was_trained_on(data, count):
    recent, rows = Recent(count), np.arange(4, 10)
    found = np.stack([recent.add(data.observations[row]) for row in rows])
    assert np.array_equal(found, states_at(data, rows, count))
    recent.reset()
    assert np.array_equal(recent.add(data.observations[9]), np.tile(data.observations[9], count))
    pair = data.observations[:2]
    assert np.array_equal(recent.add(pair), np.tile(pair, count))  # other episodes
