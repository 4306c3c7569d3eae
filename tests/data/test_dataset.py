import numpy as np
import pytest

from mvl.data.dataset import Dataset
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
