"""Two datasets as one: in the units of the first, and refused if their numbers mean something else."""

import numpy as np
import pytest

from conftest import walk
from mvl.data.dataset import Dataset
from mvl.data.joining import joined, share_cut
from mvl.data.signals import Signal, Signals
from mvl.errors import DataError


def made(observations, actions, **described) -> Dataset:
    """One episode; columns of numbers, the same number of rows each."""
    terminals = np.arange(len(observations)) == len(observations) - 1
    return Dataset.from_arrays(np.asarray(observations, float), np.asarray(actions, float), terminals, **described)


def test_episodes_follow_each_other():
    old, new = walk(3, 5), walk(2, 7, seed=1)
    both = joined(old, new)
    assert both.lengths.tolist() == [5, 5, 5, 7, 7]
    assert np.array_equal(both.observations, np.concatenate([old.observations, new.observations]))
    assert np.array_equal(both.actions[old.ends[-1] + 1 :], new.actions)
    assert both.source == "episodes and episodes"


def test_actions_of_another_range_are_brought_to_the_first_one():
    old = made([[0], [1], [2]], [[-1], [1], [0]], action_range=[[-2], [2]])
    new = made([[0], [1], [2]], [[-1], [1], [0]], action_range=[[-1], [1]])
    assert joined(old, new).actions[3:].ravel().tolist() == [-0.5, 0.5, 0.0]
    plain = made([[0], [1], [2]], [[-1], [0.5], [0]])  # not scaled: -1 and 1 are its own units
    assert joined(old, plain).actions[3:].ravel().tolist() == [-0.5, 0.25, 0.0]


def test_few_actions_beyond_the_range_are_cut_and_many_are_refused():
    old = made(np.arange(41)[:, None], np.zeros((41, 1)), action_range=[[-1], [1]])
    actions = np.zeros((41, 1))
    actions[3] = 1.0
    new = made(np.arange(41)[:, None], actions, action_range=[[-1.5], [1.5]])
    assert share_cut(old, new) == 1 / 40
    assert joined(old, new).actions[41 + 3] == 1.0
    actions[:10] = 1.0
    many = made(np.arange(41)[:, None], actions, action_range=[[-1.5], [1.5]], source="more.npz")
    with pytest.raises(
        DataError, match="more.npz: 25% of its actions lie outside of the range of arrays; import both at once, train anew"
    ):
        joined(old, many)


def test_observations_of_another_origin_are_moved_without_rounding():
    old = made([[0], [0.25], [1]], np.zeros((3, 1)), origin=[5e6])
    new = made([[0], [0.5], [1]], np.zeros((3, 1)), origin=[5e6 + 2])
    assert joined(old, new).observations.ravel().tolist() == [0, 0.25, 1, 2, 2.5, 3]


def test_goals_are_joined_too():
    goals = [made([[0], [1], [2]], np.zeros((3, 1)), oracle=[[start], [start], [start]]) for start in (1.0, 2.0)]
    assert joined(*goals).oracle.ravel().tolist() == [1, 1, 1, 2, 2, 2]


ARM = Signals((Signal("joints", ("a", "b"), "rad"),), (Signal("moves", ("x",)),), hz=30.0)
ROWS = [[0, 0], [1, 1], [2, 2]], [[0.0], [0.0], [0.0]]


@pytest.mark.parametrize(
    ("signals", "problem"),
    [
        (ARM._replace(observations=(Signal("joints", ("a", "b"), "deg"),)), r"observations have a \(deg\) where arrays has a"),
        (ARM._replace(observations=(Signal("joints", ("b", "a"), "rad"),)), r"observations have b \(rad\) where arrays has a"),
        (ARM._replace(actions=(Signal("turns", ("y",)),)), "actions have y where arrays has x"),
        (ARM._replace(actions=(Signal("moves", ("x",), levels=(0.0, 1.0)),)), "its discrete actions have other levels"),
        (ARM._replace(hz=60.0), "60 Hz, but arrays has 30; import it at the same rate"),
    ],
)
def test_other_signals_are_refused(signals, problem):
    with pytest.raises(DataError, match=f"more.npz: .*{problem}|more.npz: {problem}"):
        joined(made(*ROWS, signals=ARM), made(*ROWS, signals=signals, source="more.npz"))


def test_data_without_names_is_taken_by_its_dimensions():
    assert joined(made(*ROWS, signals=ARM), made(*ROWS)).signals == ARM
    assert joined(made(*ROWS, signals=ARM), made(*ROWS, signals=ARM._replace(hz=30.1))).lengths.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        (walk(dimensions=3), "observations have 3 dimensions, episodes has 2"),
        (made([[0, 0]] * 3, np.zeros((3, 1))), "actions have 1 dimensions, episodes has 2"),
        (made([[0, 0]] * 3, np.zeros((3, 2)), oracle=np.zeros((3, 1))), "goals have 1 dimensions, episodes has 0"),
    ],
)
def test_other_dimensions_are_refused(new, problem):
    with pytest.raises(DataError, match=problem):
        joined(walk(), new)
