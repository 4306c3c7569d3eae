"""Columns of episodes gathered on disk and written to `.npz` files."""

import numpy as np
import pytest

from mvl.data.imports import columns_file
from mvl.data.imports.columns_file import Columns, runs


def episode(first, rows):
    numbers = np.arange(first, first + rows, dtype=np.float32)
    return {"observations": np.stack([numbers, -numbers], axis=1), "actions": numbers[:, None] / 10}


@pytest.fixture
def columns(tmp_path):
    with Columns(tmp_path) as made:
        for first, rows in ((0, 3), (10, 2), (20, 4)):
            made.append(episode(first, rows))
        yield made


def test_chosen_episodes_are_written_in_order(tmp_path, columns):
    columns.save(tmp_path / "some.npz", np.array([True, False, True]), note=np.array([7]))
    with np.load(tmp_path / "some.npz") as found:
        assert found["observations"][:, 0].tolist() == [0, 1, 2, 20, 21, 22, 23]
        assert found["actions"].dtype == np.float32
        assert found["terminals"].tolist() == [False, False, True, False, False, False, True]
        assert found["note"].tolist() == [7]


def test_chunks_do_not_change_what_is_written(tmp_path, columns, monkeypatch):
    monkeypatch.setattr(columns_file, "CHUNK", 8)  # one row of observations
    changes = {"observations": lambda rows: rows[:, :1].astype(np.float64) * 2}
    columns.save(tmp_path / "all.npz", np.ones(3, bool), changes)
    with np.load(tmp_path / "all.npz") as found:
        assert found["observations"].dtype == np.float64
        assert found["observations"].tolist() == [[2 * x] for x in (0, 1, 2, 10, 11, 20, 21, 22, 23)]


def test_nothing_stays_on_disk(tmp_path):
    with Columns(tmp_path) as made:
        made.append(episode(0, 2))
    assert not list(tmp_path.iterdir())


def test_series_of_chosen_episodes():
    assert runs(np.array([3, 2, 4, 1]), np.array([True, True, False, True])) == [(0, 5), (9, 10)]
    assert runs(np.array([3, 2]), np.array([False, False])) == []
