"""Observations and goals in messages: arrays, named parts, and what is refused."""

import numpy as np
import pytest

from mvl.data.inputs import Inputs
from mvl.data.signals import Signal, Signals
from mvl.deploy.entries import entry, vector
from mvl.errors import UsageError

ARM = (Signal("joint_position", ("joint_1", "joint_2"), "rad"), Signal("gripper", ("gripper",)))
NAMED = Inputs(Signals(observations=ARM), origin=(100.0, 0.0, 0.0))
IMAGE = np.zeros((4, 4, 3), np.uint8)


def test_an_entry_is_one_array():
    assert entry({"observation": [1, 2], "observation/state": [3]}, "observation", ()).tolist() == [1, 2]
    assert entry({"observation/state": [1, 2], "observation/image": IMAGE}, "observation", ()).tolist() == [1, 2]
    assert entry({"prompt": "x"}, "observation", ()) is None


@pytest.mark.parametrize(
    "message",
    [
        {"observation/joint_position": np.float64([101, 2]), "observation/gripper": True, "observation/image": IMAGE},
        {"observation": {"joint_1": 101.0, "joint_2": 2, "gripper": [1]}},
        {"observation/gripper": np.float32(1), "observation/joint_position": [101, 2], "observation/state": [0]},
        {"observation/state": [101, 2, 1]},
        {"observation": np.float64([101, 2, 1])},
    ],
)
def test_named_parts_are_joined_by_name(message):
    found = vector(entry(message, "observation", ARM), "observation", 3, NAMED)
    assert found.dtype == np.float32
    assert found.tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"observation/joint_position": [1, 2]}, "observation lacks gripper"),
        ({"observation/joint_position": [1], "observation/gripper": 0}, "its last axis must have length 2"),
        ({"observation/joint_position": [1, np.nan], "observation/gripper": 0}, "not finite"),
        ({"observation/joint_position": ["a", "b"], "observation/gripper": 0}, "'joint_position' has type <U1; send numbers"),
        ({"observation/joint_position": [[1, 2]], "observation/gripper": [0]}, r"shape \(1, 3\); it must be \(3,\)"),
        ({"observation/joints": [1, 2]}, "which are: gripper, joint_1, joint_2, joint_position"),
    ],
)
def test_wrong_parts_are_refused(message, said):
    with pytest.raises(UsageError, match=said):
        vector(entry(message, "observation", ARM), "observation", 3, NAMED)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1.0], r"goal has shape \(1,\); it must be \(2,\)"),
        (np.zeros((1, 2)), r"shape \(1, 2\)"),
        (3.0, r"shape \(\)"),
        ([1.0, np.nan], "not finite"),
        ([1e300, 0], "not finite"),
        (["a", "b"], "send numbers"),
        (["1", "2"], "send numbers"),
        (b"12", "send numbers"),
        ([[1], [2, 3]], "not an array"),
        ([2**70, 1], "type object"),
        ({"joints": [1, 2]}, "which are: no names; send one array"),
    ],
)
def test_what_is_not_a_vector_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        vector(entry({"goal": given}, "goal", ()), "goal", 2, Inputs())
