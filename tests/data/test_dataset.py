import numpy as np
import pytest

from mvl.data.dataset import Dataset
from mvl.data.signals import Signal, Signals
from mvl.errors import DataError, UsageError


def arrays(rows=6, ends=(2, 5)):
    observations = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
    terminals = np.isin(np.arange(rows), ends)
    return observations, np.zeros((rows, 1), np.float32), terminals


def test_compact_layout_by_hand():
    """Two episodes of two transitions: the last row is no transition, the one before it the last goal."""
    dataset = Dataset.from_arrays(*arrays())
    assert dataset.starts.tolist() == [0, 3]
    assert dataset.transitions.tolist() == [0, 1, 3, 4]
    assert dataset.final_goals.tolist() == [1, 1, 1, 4, 4, 4]


def test_layout_matches_ogbench_compact_loader(tmp_path):
    from ogbench.utils import load_dataset

    observations, actions, terminals = arrays(9, (3, 5, 8))
    np.savez(tmp_path / "d.npz", observations=observations, actions=actions, terminals=terminals)
    theirs = load_dataset(tmp_path / "d.npz", compact_dataset=True)
    ours = Dataset.from_arrays(observations, actions, terminals)
    assert ours.transitions.tolist() == np.flatnonzero(theirs["valids"]).tolist()
    ends = np.flatnonzero(theirs["terminals"])
    first_end_at_or_after = ends[np.searchsorted(ends, ours.transitions)]
    assert ours.final_goals[ours.transitions].tolist() == first_end_at_or_after.tolist()


def test_statistics_by_hand():
    observations = np.array([[0, 0], [3, 4], [6, 8], [0, 0], [0, 2]], np.float32)
    dataset = Dataset.from_arrays(observations, np.zeros((5, 1)), [0, 0, 1, 0, 1])
    assert dataset.statistics.step == 5.0  # of 5, 5, 2
    assert np.allclose(dataset.statistics.std, observations.std(axis=0))
    scaled = np.linalg.norm(np.array([3, 4]) / observations.std(axis=0))
    assert np.isclose(dataset.statistics.scaled_step, scaled)


def test_episodes_may_leave_out_the_last_action():
    states, actions = np.ones((3, 2)), np.full((2, 1), 0.5)
    dataset = Dataset.from_episodes([(states, actions), (states, np.full((3, 1), 0.5))])
    assert dataset.actions[:, 0].tolist() == [0.5, 0.5, 0, 0.5, 0.5, 0.5]
    assert dataset.ends.tolist() == [2, 5]


def test_split_holds_out_the_last_episodes():
    dataset = Dataset.from_arrays(*arrays(8, (1, 3, 5, 7)))
    train, held_out = dataset.split(0.25)
    assert train.ends.tolist() == [1, 3, 5]
    assert held_out.ends.tolist() == [1]
    assert held_out.observations.tolist() == dataset.observations[6:].tolist()
    with pytest.raises(UsageError, match="leaves one side empty"):
        dataset.split(0.01)


NAMED = Signals((Signal("x", ("x", "y"), "m"),), (Signal("grip", ("grip",), levels=(0.0, 0.08)),), hz=30.0)


def test_names_and_origin_stay_with_the_parts_of_a_dataset():
    observations, actions, terminals = arrays(8, (1, 3, 5, 7))
    dataset = Dataset.from_arrays(observations, actions, terminals, signals=NAMED, origin=[5e6, 0.0])
    for part in (*dataset.split(0.25), dataset.some([0, 2])):
        assert part.signals == NAMED
        assert part.origin.tolist() == [5e6, 0]


def test_some_episodes_are_cut():
    dataset = Dataset.from_arrays(*arrays(9, (2, 5, 8))).some([0, 2], longest=2)
    assert dataset.ends.tolist() == [1, 3]
    assert dataset.observations[:, 0].tolist() == [0, 2, 12, 14]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"signals": NAMED._replace(observations=NAMED.actions)},
            "signals names 1 dimensions of observations, not the 2 there are",
        ),
        ({"signals": NAMED._replace(observations=(*NAMED.actions, *NAMED.actions))}, "gives levels to observations"),
        ({"actions": np.full((6, 1), 0.5)}, "dimension 0 is discrete, a whole number from 0 to 1, but is 0.5 at row 0"),
        ({"actions": np.full((6, 1), 2.0)}, "a whole number from 0 to 1, but is 2 at row 0"),
        ({"origin": [1.0]}, "origin must have one finite number for each of 2 dimensions"),
        ({"origin": [1.0, np.nan]}, "origin must have one finite number"),
        ({"oracle": np.zeros((6, 1)), "goal_origin": [0.0, 0.0]}, "goal_origin must have one finite number for each of 1 dim"),
    ],
)
def test_names_that_do_not_fit_are_refused(change, message):
    parts = dict(zip(("observations", "actions", "terminals"), arrays(), strict=True))
    with pytest.raises(DataError, match=message):
        Dataset.from_arrays(**{**parts, "signals": NAMED, **change})


def test_discrete_actions_may_exceed_one():
    parts = dict(zip(("observations", "actions", "terminals"), arrays(), strict=True))
    three = NAMED._replace(actions=(Signal("grip", ("grip",), levels=(0.0, 0.1, 0.2)),))
    assert Dataset.from_arrays(**{**parts, "actions": np.full((6, 1), 2.0)}, signals=three).actions.max() == 2


def test_how_long_observations_stay():
    states = np.repeat(np.arange(8.0), 3)[:, None]
    dataset = Dataset.from_arrays(states, np.zeros((24, 1)), np.arange(24) % 12 == 11)
    assert dataset.repeats == 3
    with pytest.raises(DataError, match="more than half of the transitions do not move.*import with --every 3"):
        _ = dataset.statistics
    assert Dataset.from_arrays(np.arange(8.0)[:, None], np.zeros((8, 1)), np.arange(8) == 7).repeats == 1


def test_steps_that_are_too_long_to_measure_are_refused():
    with pytest.raises(DataError, match="too large for their steps to be measured"), np.errstate(over="ignore"):
        _ = Dataset.from_arrays(np.array([[0], [1e30], [0], [1e30]]), np.zeros((4, 1)), [0, 0, 0, 1]).statistics


def bad(field, change):
    parts = dict(zip(("observations", "actions", "terminals"), arrays(), strict=True))
    parts[field] = change(parts[field])
    return parts


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("observations", lambda a: a[:, 0], r"shape \(6,\)"),
        ("observations", lambda a: a[:-1], "5, 6 and 6 rows"),
        ("observations", lambda a: np.where(a == 7, np.nan, a), "observations is nan at row 3, dimension 1"),
        ("observations", lambda a: a.astype(str), "numbers are needed"),
        ("actions", lambda a: a + np.inf, "actions is inf at row 0"),
        ("actions", lambda a: a + 1.5, r"must lie in \[-1, 1\], but dimension 0 is 1.5 at row 0"),
        ("actions", lambda a: a[:, :0], "shape"),
        ("terminals", lambda a: a[:, None], "one flag per row"),
        ("terminals", lambda a: np.arange(6) == 2, "last row does not end an episode"),
        ("terminals", lambda a: np.zeros(6), "last row does not end an episode"),
        ("terminals", lambda a: np.arange(6) >= 4, "episode 1 has one row"),
    ],
)
def test_bad_arrays_are_refused_with_the_reason(field, change, message):
    with pytest.raises(DataError, match=message):
        Dataset.from_arrays(**bad(field, change))


def test_episodes_of_different_dimensions_are_refused():
    with pytest.raises(DataError, match="differ in their dimensions"):
        Dataset.from_episodes([(np.ones((3, 2)), np.zeros((3, 1))), (np.ones((3, 3)), np.zeros((3, 1)))])
    with pytest.raises(DataError, match="3 observations and 5 actions"):
        Dataset.from_episodes([(np.ones((3, 2)), np.zeros((5, 1)))])
    with pytest.raises(DataError, match="no episodes"):
        Dataset.from_episodes([])


def test_data_that_never_moves_is_refused():
    with pytest.raises(DataError, match="do not move"):
        _ = Dataset.from_arrays(np.ones((4, 2)), np.zeros((4, 1)), [0, 0, 0, 1]).statistics
