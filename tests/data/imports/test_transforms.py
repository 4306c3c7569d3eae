"""Changes to imported episodes, against numbers by hand."""

import numpy as np
import pytest

from mvl.data.imports import transforms
from mvl.data.signals import Dimension
from mvl.data.sources.episodes import Checked


def episode(actions, observations=None, goals=None, time=None):
    actions = np.array(actions, float).reshape(len(actions), -1)
    states = np.arange(len(actions))[:, None] if observations is None else np.array(observations, float)
    return Checked(states.reshape(len(actions), -1), actions, goals, None, time)


def test_dimensions_are_dropped_by_kind():
    before = episode([[1, 2], [3, 4]], [[1, 2, 3], [4, 5, 6]], np.ones((2, 2)))
    after = transforms.without(before, {"observations": [0, 2], "actions": [], "goals": [1]})
    assert after.observations.tolist() == [[2], [5]]
    assert after.actions.tolist() == [[1, 2], [3, 4]]
    assert after.goals.shape == (2, 1)


@pytest.mark.parametrize(
    ("join", "wanted"),
    [
        (transforms.total, [6, 15, 7]),
        (transforms.last, [3, 6, 7]),
        (transforms.mean, [2, 5, 7]),
        (transforms.initial, [1, 4, 7]),
    ],
)
def test_actions_between_kept_rows_are_joined(join, wanted):
    before = episode([1, 2, 3, 4, 5, 6, 7], time=np.arange(7.0))
    after = transforms.at_rows(before, transforms.every_nth(before, 3), join)
    assert after.observations[:, 0].tolist() == [0, 3, 6]
    assert after.time.tolist() == [0, 3, 6]
    assert after.actions[:, 0].tolist() == wanted


def test_choices_take_the_last_value_instead_of_a_sum():
    before = episode([[1, 0], [1, 0], [1, 1], [1, 1]])
    assert transforms.at_rows(before, np.array([0, 2]), transforms.total, [1]).actions.tolist() == [[2, 0], [2, 1]]


@pytest.mark.parametrize(("join", "wanted"), [(transforms.total, [1, 0, 2, 3]), (transforms.mean, [1, 2, 2, 3])])
def test_a_row_that_is_kept_twice_moves_once(join, wanted):
    assert transforms.at_rows(episode([1, 2, 3]), np.array([0, 1, 1, 2]), join).actions[:, 0].tolist() == wanted


def test_joined_deltas_lead_from_one_kept_row_to_the_next():
    deltas = np.random.default_rng(0).normal(size=(20, 2))
    before = episode(deltas, np.cumsum(deltas, axis=0) - deltas)
    after = transforms.at_rows(before, transforms.every_nth(before, 4), transforms.total)
    assert np.allclose(np.diff(after.observations, axis=0), after.actions[:-1])


def test_ticks_of_a_steady_clock():
    steady = np.arange(10) / 30
    assert transforms.ticks(steady, 30).tolist() == list(range(10))
    assert transforms.ticks(steady, 10).tolist() == [0, 3, 6, 9]
    late = np.array([0.0, 0.1, 0.2, 0.5, 0.6])  # nothing between 0.2 and 0.5
    assert transforms.ticks(late, 10).tolist() == [0, 1, 2, 2, 3, 3, 4]


def test_positions_become_differences_from_the_present_ones():
    before = episode([[1.5, 7], [2.5, 7]], [[0, 1], [0, 2]])
    assert transforms.minus_positions(before, {0: 1}, {}).actions.tolist() == [[0.5, 7], [0.5, 7]]


def test_differences_of_angles_go_the_shorter_way():
    before = episode([350, 10, 200], [10, 350, 20])
    assert transforms.minus_positions(before, {0: 0}, {0: 360.0}).actions[:, 0].tolist() == [-20, 20, -180]
    assert transforms.differences(before, {0: 360.0}).actions[:, 0].tolist() == [20, -170, 0]


def test_actions_from_positions_lead_to_the_next_row():
    before = episode([[0, 5], [1, 3], [3, 3]])
    assert transforms.differences(before, {}).actions.tolist() == [[1, -2], [2, 0], [0, 0]]


def test_angles_become_sine_and_cosine():
    angles = [Dimension("x", "x"), Dimension("yaw", "yaw", period=360.0)]
    before = episode([0, 0], [[1, 90], [2, 180]], np.array([[90.0], [0.0]]))
    after = transforms.turned(before, angles, angles[1:])
    assert np.allclose(after.observations, [[1, 1, 0], [2, 0, -1]])
    assert np.allclose(after.goals, [[1, 0], [0, 1]])
