"""Standardized observations and goals: the numbers, constant dimensions, and rows in memory and on disk alike."""

import json

import jax
import numpy as np
import pytest

from conftest import walk
from mvl.batches import BatchRequest, GoalMix
from mvl.data.dataset import Dataset
from mvl.data.goals import on_device, sample
from mvl.data.normalization import Moments, Normalization
from mvl.data.out_of_core import Mapped


def with_goals(data: Dataset) -> Dataset:
    return Dataset(data.observations, data.actions, data.ends, oracle=data.observations[:, :1] * 100 + 7)


def test_moments_by_hand():
    found = Moments.of(np.array([[1, 5], [3, 5], [5, 5], [7, 5]], np.float32))
    assert found == ((4.0, 5.0), (np.sqrt(5.0), 1.0))  # the second dimension is constant, and only shifted
    assert found.standardized(np.array([[7, 6]], np.float32)) == pytest.approx(np.array([[3 / np.sqrt(5.0), 1.0]]))


def test_a_constant_is_exactly_zero_whatever_its_size():
    rows = np.full((1000, 3), np.float32([0.1, 1e6 / 3, 0.0]))
    assert (Moments.of(rows).standardized(rows) == 0).all()


def test_small_and_distant_numbers_keep_their_spread():
    spread = np.random.default_rng(0).normal(size=(500, 2))
    near, far = (Moments.of((spread * scale + origin).astype(np.float32)) for scale, origin in ((1e-9, 0.0), (30.0, 1e6)))
    assert near.std == pytest.approx(1e-9 * spread.std(axis=0))
    assert far.std == pytest.approx(30 * spread.std(axis=0), rel=1e-4)


def test_standardized_data_has_mean_zero_and_deviation_one():
    data = walk(dimensions=3)
    rows = on_device(data, Normalization.of(data))
    assert np.allclose(rows.observations.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(rows.observations.std(axis=0), 1, atol=1e-5)
    assert rows.goals is rows.observations


def test_oracle_goals_have_moments_of_their_own():
    data = with_goals(walk())
    normalization = Normalization.of(data)
    assert np.allclose(on_device(data, normalization).goals.std(axis=0), 1, atol=1e-5)
    assert normalization.goals != normalization.observations
    assert Normalization.from_json(json.loads(json.dumps(normalization.to_json()))) == normalization


@pytest.mark.parametrize("data", [walk(), with_goals(walk())], ids=["plain", "oracle"])
def test_rows_read_from_disk_are_standardized_alike(data, key):
    normalization = Normalization.of(data)
    mapped = Mapped.of(data, normalization)
    draw = lambda rows: sample(key, rows, 32, (GoalMix(), GoalMix()), BatchRequest(windows=True, waypoint_steps=3), 0.9)
    batches = draw(on_device(data, normalization)), mapped.look_up(draw(mapped.rows))
    assert all(np.array_equal(one, other) for one, other in zip(*map(jax.tree.leaves, batches), strict=True))
