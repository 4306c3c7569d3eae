"""Actions in the units of the source, from a range and from levels, and through run.json."""

import json
from dataclasses import replace

import numpy as np
import pytest

from conftest import walk
from mvl.data.actions import ActionUnits
from mvl.data.signals import Signal, Signals

UNITS = ActionUnits(((-0.1, 0.0, 0.0), (0.1, 1.0, 1.0)), ((), (), (0.2, 0.5, 0.8)))


def test_ranges_and_levels_by_hand():
    found = UNITS.original(np.array([[[-1.0, 1.0, 2.0]], [[0.5, 0.0, 0.0]]], np.float32))
    assert found == pytest.approx(np.array([[[-0.1, 1.0, 0.8]], [[0.05, 0.5, 0.2]]]))
    assert UNITS.counts == (0, 0, 3)


def test_without_units_actions_stay_as_they_are():
    actions = np.ones((2, 3), np.float32)
    assert ActionUnits().original(actions) is actions


def test_they_survive_json_and_are_read_from_earlier_runs():
    assert ActionUnits.from_json(json.loads(json.dumps(UNITS.to_json()))) == UNITS
    assert ActionUnits.from_json({"action_range": [[-2.0], [2.0]]}) == ActionUnits(((-2.0,), (2.0,)))
    assert ActionUnits.from_json({"path": None}) == ActionUnits()


def test_levels_are_those_of_the_signals():
    signals = Signals(actions=(Signal("arm", ("x",)), Signal("gripper", ("gripper",), levels=(0.0, 1.0))))
    limits = np.array([[-1, 0], [3, 1]], np.float32)
    data = replace(walk(), signals=signals, action_range=limits)
    assert ActionUnits.of(data) == ActionUnits(((-1.0, 0.0), (3.0, 1.0)), ((), (0.0, 1.0)))
    plain = replace(data, signals=Signals(actions=(Signal("arm", ("x", "y")),)))
    assert ActionUnits.of(plain).counts == ()


def test_normalized_is_the_inverse_of_original():
    units = ActionUnits(((-2.0, 0.0, 0.0), (2.0, 1.0, 1.0)), ((), (), (0.0, 10.0, 50.0)))
    actions = np.float32([[0.5, -1.0, 2], [-1.0, 1.0, 0]])
    assert np.allclose(units.normalized(units.original(actions)), actions)
    assert units.normalized(np.float32([2.0, 0.5, 12.0])).tolist() == [1.0, 0.0, 1.0]
    assert ActionUnits().normalized(actions) is actions
