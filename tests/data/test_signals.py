"""Names and units: to JSON and back, and vectors from named parts."""

import json

import numpy as np
import pytest

from mvl.data.signals import Dimension, Signal, Signals, dimension_names, dimensions, grouped, vector_of
from mvl.errors import UsageError

ARM = (
    Signal("joint_positions", ("shoulder", "elbow"), "rad"),
    Signal("joint_positions", ("slide",), "m"),
    Signal("gripper", ("gripper",)),
)
TURNING = (Signal("x", ("x",), "m"), Signal("yaw", ("sin yaw", "cos yaw"), "deg", period=360.0))


def test_signals_survive_json():
    signals = Signals(TURNING, (Signal("grip", ("grip",), levels=(0.0, 0.08)),), ARM, 30.0)
    assert Signals.from_json(json.loads(json.dumps(signals.to_json()))) == signals


def test_signals_without_a_period_are_read():
    data = {"observations": [{"name": "x", "labels": ["x"], "unit": "", "levels": []}], "actions": [], "goals": [], "hz": None}
    assert Signals.from_json(data).observations == (Signal("x", ("x",)),)


@pytest.mark.parametrize(
    ("signal", "hz"),
    [
        ({"name": 1}, None),
        ({"labels": []}, None),
        ({"levels": [0.0]}, None),
        ({"levels": [1.0, 0.0]}, None),
        ({"levels": [0.0, float("inf")]}, None),
        ({"levels": [0.0, 1.0], "labels": ["a", "b"]}, None),
        ({}, -1.0),
        ({}, "fast"),
    ],
)
def test_descriptions_that_make_no_sense_are_refused(signal, hz):
    whole = {"name": "x", "labels": ["x"], "unit": "", "levels": [], **signal}
    with pytest.raises((ValueError, TypeError)):
        Signals.from_json({"observations": [whole], "actions": [], "goals": [], "hz": hz})


def test_names_have_their_unit_and_a_sine_has_none():
    assert dimension_names(ARM) == ["shoulder (rad)", "elbow (rad)", "slide (m)", "gripper"]
    assert dimension_names(TURNING) == ["x (m)", "sin yaw", "cos yaw"]


@pytest.mark.parametrize("signals", [ARM, TURNING])
def test_dimensions_group_to_the_same_signals(signals):
    assert grouped(dimensions(signals)) == signals


def test_discrete_dimensions_stay_alone():
    both = [Dimension("a", "a_0", levels=(0.0, 1.0)), Dimension("a", "a_1", levels=(0.0, 1.0))]
    assert [signal.labels for signal in grouped(both)] == [("a_0",), ("a_1",)]


def test_parts_come_in_the_order_of_the_dimensions():
    assert vector_of(ARM, {"gripper": 4, "joint_positions": [1, 2, 3]}, "goal").tolist() == [1, 2, 3, 4]
    single = {"elbow": 2, "slide": [3], "gripper": 4, "shoulder": 1}
    assert vector_of(ARM, single, "goal").tolist() == [1, 2, 3, 4]


def test_rows_of_parts_are_broadcast():
    rows = vector_of(ARM, {"gripper": 4, "joint_positions": np.arange(6).reshape(2, 3)}, "goal")
    assert rows.tolist() == [[0, 1, 2, 4], [3, 4, 5, 4]]


def test_an_angle_is_given_as_the_angle():
    assert np.allclose(vector_of(TURNING, {"x": 2, "yaw": 90}, "goal"), [2, 1, 0])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"hand": 1}, r"goal has no part named 'hand'; it is made of joint_positions \(3\), gripper \(1\)"),
        ({"joint_positions": [1, 2, 3]}, r"goal lacks gripper; give joint_positions \(3\), gripper \(1\)"),
        ({"joint_positions": [1, 2]}, r"goal 'joint_positions' has shape \(2,\); its last axis must have length 3"),
        ({"joint_positions": 1}, r"has shape \(\)"),
        ({"gripper": np.nan}, "goal 'gripper' has a value that is not finite"),
        ({"gripper": "shut"}, "goal 'gripper' is not an array of numbers"),
        ({"joint_positions": [1, 2, 3], "elbow": 1}, "goal 'elbow' is given twice"),
        ({"joint_positions": np.zeros((2, 3)), "gripper": np.zeros((3, 1))}, "differ in their numbers of rows"),
    ],
)
def test_wrong_parts_are_refused_in_a_sentence(parts, message):
    with pytest.raises(UsageError, match=message):
        vector_of(ARM, parts, "goal")
