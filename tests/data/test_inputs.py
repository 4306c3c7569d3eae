"""Observations and goals as a policy is given them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from conftest import walk
from mvl.data.inputs import Inputs
from mvl.data.signals import Signal, Signals
from mvl.errors import UsageError

ARM = (Signal("joints", ("a", "b"), "rad"), Signal("gripper", ("gripper",)))
TURNING = (Signal("x", ("x",), "m"), Signal("yaw", ("sin yaw", "cos yaw"), "deg", period=360.0))


def test_inputs_subtract_the_origin_before_they_round():
    inputs = Inputs(None, (5e6, 0.0), (1.0,))
    assert np.allclose(inputs.vector([5e6 + 0.35, 2], "observation"), [0.35, 2], atol=1e-6)
    assert inputs.vector([3], "goal") == [2]
    assert inputs.vector([5e6 + 0.35, 2], "observation").dtype == np.float32


def test_inputs_use_the_names_of_goals_if_there_are_some():
    inputs = Inputs(Signals(observations=ARM, goals=(Signal("spot", ("u", "v")),)))
    assert inputs.vector({"spot": [1, 2]}, "goal").tolist() == [1, 2]
    assert Inputs(Signals(observations=TURNING)).vector({"x": 0, "yaw": 0}, "goal").tolist() == [0, 0, 1]
    with pytest.raises(UsageError, match="the data of this policy has none; give an array"):
        Inputs().vector({"x": 1}, "observation")


def test_arrays_may_have_the_angles_of_the_source():
    inputs = Inputs(Signals(observations=TURNING))
    assert np.allclose(inputs.vector([[3, 90], [4, 180]], "observation"), [[3, 1, 0], [4, 0, -1]], atol=1e-6)
    assert inputs.vector([3, 1, 0], "observation").tolist() == [3, 1, 0]


def test_goals_that_are_observations_have_the_origin_of_these():
    data = replace(walk(), origin=np.array([1.0, 2.0]), signals=Signals(observations=ARM))
    assert Inputs.of(data) == Inputs(data.signals, (1.0, 2.0), (1.0, 2.0))
    told = replace(data, oracle=data.observations[:, :1])
    assert Inputs.of(told) == Inputs(data.signals, (1.0, 2.0), None)


@pytest.mark.parametrize("inputs", [Inputs(), Inputs(Signals(observations=TURNING, hz=30.0), (1.0,), (2.0,))])
def test_inputs_survive_json(inputs):
    assert Inputs.from_json(json.loads(json.dumps(inputs.to_json()))) == inputs


def test_what_the_data_has_is_turned_back_into_the_units_of_the_source():
    inputs = Inputs(Signals(observations=TURNING), (5e6, 0.0, 0.0), None)
    given = np.array([[5e6 + 0.25, 90.0], [5e6, -135.0]])
    assert np.allclose(inputs.original(inputs.vector(given, "observation"), "observation"), given, atol=1e-5)
    assert np.allclose(inputs.original(np.float32([1, 0]), "goal"), [1, 0]), "goals of other dimensions stay as they are"
    assert np.allclose(inputs.original(np.float32([2, 1, 0]), "goal"), [2, 90])
