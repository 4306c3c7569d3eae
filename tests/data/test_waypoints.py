"""States on the way: waypoints, midpoints and the transitions that have a goal ahead."""

import jax.numpy as jnp
import numpy as np
import pytest

from mvl.batches import BatchRequest, GoalMix
from mvl.data.dataset import Dataset
from mvl.data.goals import chunk_at, draw_midpoints, goals_at, on_device, sample, waypoints_at

LENGTHS = (12, 3, 2, 30)
"""Rows of each episode; one of them has no transition with a goal ahead."""
STEPS = 5
MANY = 4000


@pytest.fixture
def dataset():
    """Observations are row numbers, and an oracle calls each row by its negative."""
    count = sum(LENGTHS)
    ends = np.cumsum(LENGTHS) - 1
    numbers = np.arange(count, dtype=np.float32)[:, None]
    return Dataset.from_arrays(numbers, numbers / count, np.isin(np.arange(count), ends), oracle=-numbers)


@pytest.fixture
def data(dataset):
    return on_device(dataset)


def final_goal(row):
    """The last row of the episode that may be a goal: the one before its last."""
    return int(np.cumsum(LENGTHS)[np.searchsorted(np.cumsum(LENGTHS), row, side="right")]) - 2


def every_pair(data):
    pairs = [(int(i), int(j)) for i in data.transitions for j in data.transitions]
    return [jnp.asarray(rows) for rows in zip(*pairs, strict=True)]


def test_waypoints_of_every_pair(data):
    rows, goals = every_pair(data)
    found = waypoints_at(data, rows, goals, STEPS)
    for index, (i, j) in enumerate(zip(rows.tolist(), goals.tolist(), strict=True)):
        near = min(i + STEPS, final_goal(i))
        onward = min(i + STEPS, j) if i <= j <= final_goal(i) else near
        assert found.near[index, 0] == -near
        assert found.onward[index, 0] == -onward  # as the goal is told
        assert found.onward_states[index, 0] == onward  # and the state there


@pytest.mark.parametrize(
    ("row", "goal", "near", "onward"),
    [
        (0, 3, 5, 3),  # the goal is nearer than a waypoint: never beyond it
        (0, 9, 5, 5),
        (8, 10, 10, 10),  # cut by the episode
        (10, 10, 10, 10),  # the last transition
        (2, 0, 7, 7),  # a goal behind
        (0, 30, 5, 5),  # a goal in another episode, ahead in the file
        (20, 1, 25, 25),
    ],
)
def test_waypoints_on_paper(data, row, goal, near, onward):
    found = waypoints_at(data, jnp.array([row]), jnp.array([goal]), STEPS)
    assert [-float(found.near[0, 0]), -float(found.onward[0, 0]), float(found.onward_states[0, 0])] == [near, onward, onward]


def test_midpoints_are_uniform_before_the_goal(data, key):
    found = draw_midpoints(key, data, jnp.full(MANY, 4), jnp.full(MANY, 9))
    middle = np.asarray(found.states)[:, 0].astype(int)
    assert np.bincount(middle, minlength=10)[4:] / MANY == pytest.approx([0.2] * 5 + [0.0], abs=0.03)
    assert (np.asarray(found.offsets) == middle - 4).all()
    assert np.allclose(found.actions[:, 0], middle / sum(LENGTHS))  # what was done there


def test_midpoint_of_neighbors_is_the_first(data, key):
    found = draw_midpoints(key, data, jnp.full(50, 4), jnp.full(50, 5))
    assert (found.states == 4).all()
    assert (found.offsets == 0).all()


def test_early_transitions_are_all_but_the_last_of_each_episode(dataset):
    expected, start = [], 0
    for length in LENGTHS:
        expected += range(start, start + length - 2)
        start += length
    assert dataset.early.tolist() == expected


def batch_of(data, key, value_stream, **wants):
    return sample(key, data, MANY, (value_stream, GoalMix(0.0, 0.5, 0.5, geometric=False)), BatchRequest(**wants), 0.9)


def test_with_midpoints_every_goal_lies_strictly_ahead(data, key):
    """TRL's stream: goals in the same episode, at least a step away, the midpoint between; nothing at the very end."""
    batch = batch_of(data, key, GoalMix(0.0, 1.0, 0.0, geometric=True), midpoints=True)
    rows, goals = (np.asarray(x)[:, 0].astype(int) for x in (batch.observations, batch.value_goals.states))
    middle = np.asarray(batch.midpoints.states)[:, 0].astype(int)
    finals = np.array([final_goal(row) for row in rows])
    assert (goals > rows).all()
    assert (goals <= finals).all()
    assert ((rows <= middle) & (middle < goals)).all()
    assert (np.asarray(batch.value_goals.offsets) == goals - rows).all()
    assert (np.asarray(batch.midpoints.offsets) == middle - rows).all()
    assert (np.asarray(batch.value_goals.rewards) == -1).all()
    assert set(rows.tolist()) == set(np.asarray(data.early).tolist())


def test_without_midpoints_the_last_transitions_are_drawn_too(data, key):
    batch = batch_of(data, key, GoalMix(0.0, 1.0, 0.0, geometric=True))
    rows = np.asarray(batch.observations)[:, 0].astype(int)
    assert set(rows.tolist()) == set(np.asarray(data.transitions).tolist())
    assert batch.midpoints is None
    assert batch.waypoints is None


def test_waypoints_of_a_batch_lead_to_the_actor_goals(data, key):
    batch = batch_of(data, key, GoalMix(), waypoint_steps=STEPS)
    rows, goals = (np.asarray(x)[:, 0].astype(int) for x in (batch.observations, batch.actor_goals.states))
    near, onward = (-np.asarray(x)[:, 0].astype(int) for x in batch.waypoints[:2])
    for i, j, a, b in zip(rows.tolist(), goals.tolist(), near.tolist(), onward.tolist(), strict=True):
        assert a == min(i + STEPS, final_goal(i))
        assert b == (min(a, j) if i <= j <= final_goal(i) else a)


def test_offsets_count_rows_and_tell_the_goals_apart(data):
    rows, goals = every_pair(data)
    found = goals_at(data, rows, goals)
    assert (found.offsets == goals - rows).all()
    assert (found.states[:, 0] == goals).all()
    assert (found.vectors[:, 0] == -goals).all()
    assert ((found.rewards == 0) == (found.offsets == 0)).all()
    assert (found.masks == -found.rewards).all()


@pytest.mark.parametrize(
    ("row", "goal", "actions", "after"),
    [
        (0, 9, [0, 1, 2, 3, 4], 5),
        (0, 3, [0, 1, 2, 3, 4], 3),  # not beyond the goal
        (7, 7, [7, 8, 9, 10], 11),  # the episode ends: its last row has no action, but is a state
        (10, 3, [10], 11),  # a goal behind
        (0, 30, [0, 1, 2, 3, 4], 5),  # a goal in another episode
        (15, 15, [15], 16),
    ],
)
def test_a_chunk_ends_with_its_episode_and_its_goal(data, row, goal, actions, after):
    found = chunk_at(data, jnp.asarray([row]), jnp.asarray([goal]), STEPS)
    repeated = [*actions, *[actions[-1]] * (STEPS - len(actions))]
    assert np.allclose(found.actions[0, :, 0] * sum(LENGTHS), repeated)
    assert found.valid[0].tolist() == [True] * len(actions) + [False] * (STEPS - len(actions))
    assert found.after[0, 0] == after


def test_a_chunk_towards_a_waypoint_does_not_pass_it(data, key):
    request = BatchRequest(waypoint_steps=2, chunk=STEPS)
    batch = sample(key, data, 200, (GoalMix(), GoalMix(0.0, 1.0, 0.0, False)), request, 0.9)
    near, here = -batch.waypoints.near, batch.observations
    expected = jnp.where(near > here, near, here + 1)  # the last transition has no waypoint ahead
    assert (batch.chunk.after == expected).all()
