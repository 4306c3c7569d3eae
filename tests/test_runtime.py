"""The runtime of exported policies: what it remembers, draws and refuses, as `mvl.load_policy` does."""

import numpy as np
import pytest
from exported import ORIGIN, rover_run, walking_run

import mvl
import mvl.runtime
from mvl.deploy.export.exporting import export_onnx
from mvl.errors import UsageError


@pytest.fixture(scope="module")
def rover(tmp_path_factory):
    """A policy with names, levels, a history of two and chunks of three, as a run and exported."""
    folder = tmp_path_factory.mktemp("rover")
    run = rover_run(folder / "run", history=2, chunk=3)
    return run, export_onnx(run, folder / "policy.onnx")[0]


def states(count, seed=0):
    """Observations as the source has them: x, y and the heading in degrees."""
    draw = np.random.default_rng(seed)
    return np.column_stack([ORIGIN[:2] + draw.uniform(-1, 1, (count, 2)), draw.uniform(0, 360, count)])


GOAL = np.array([5e6, -2e6, 90.0])


@pytest.mark.parametrize("execute", ["open", "blended"])
def test_chunks_and_histories_are_carried_on_as_by_the_run(rover, execute):
    run, file = rover
    exported, own = mvl.runtime.load(file, execute=execute), mvl.load_policy(run, execute=execute)
    observations = states(10)
    for number, observation in enumerate(observations):
        if number == 5:
            exported.reset()
            own.reset()
        goal = GOAL + (0.5 if number > 7 else 0)
        assert np.allclose(exported.act(observation, goal), own.act(observation, goal), atol=1e-6), number


def test_rows_are_episodes(rover):
    run, file = rover
    exported, own = mvl.runtime.load(file), mvl.load_policy(run)
    for seed in range(4):
        rows = states(5, seed)
        found = exported.act(rows, GOAL)
        assert found.shape == (5, 3)
        assert np.allclose(found, own.act(rows, GOAL), atol=1e-6)
        assert np.allclose(exported.value(rows, GOAL), own.value(rows, GOAL), atol=1e-5)
    assert exported.act_chunk(rows, GOAL).shape == (5, 3, 3)
    whole = np.concatenate([rows, states(5)], axis=-1)
    assert exported.act_chunk(whole, GOAL).shape == (5, 3, 3), "a history may be given"


def test_parts_are_taken_by_name(rover):
    policy = mvl.runtime.load(rover[1])
    named = policy.act({"place": states(1)[0, :2], "yaw": states(1)[0, 2]}, {"x": GOAL[0], "y": GOAL[1], "yaw": 450.0})
    policy.reset()
    assert np.allclose(named, policy.act(states(1)[0], GOAL), atol=1e-6)
    with pytest.raises(UsageError, match="observation lacks yaw; give place"):
        policy.act({"place": GOAL[:2]}, GOAL)


def test_bad_calls_are_refused(rover, tmp_path):
    policy = mvl.runtime.load(rover[1])
    with pytest.raises(UsageError, match=r"observation has shape \(4,\); its last axis must have length 3"):
        policy.act(np.zeros(4), GOAL)
    with pytest.raises(UsageError, match=r"goal has shape \(\); its last axis must have length 3"):
        policy.act(GOAL, 1.0)
    with pytest.raises(UsageError, match="goal has a value that is not finite"):
        policy.act(GOAL, np.full(3, np.nan))
    with pytest.raises(UsageError, match="observation is not an array of numbers"):
        policy.act("left", GOAL)
    plain = mvl.runtime.load(export_onnx(walking_run(tmp_path / "run", "fbc"), tmp_path / "flow.onnx")[0])
    with pytest.raises(UsageError, match="goal is given by names, but the data of this policy has none"):
        plain.act(np.zeros(2), {"x": 0})
    with pytest.raises(UsageError, match="exported without a value"):
        plain.value(np.zeros(2), np.zeros(2))
    with pytest.raises(UsageError, match="observation has a value that is not finite"):
        plain.act(np.array([1e300, 0]), np.zeros(2))


def test_draws_are_seeded(tmp_path):
    (file,) = export_onnx(walking_run(tmp_path / "run", "fbc"), tmp_path / "flow.onnx")
    actions = lambda seed: [mvl.runtime.load(file, seed=seed).act(np.zeros(2), np.ones(2)).tolist() for _ in range(2)]
    assert actions(0)[0] == actions(0)[1]
    assert actions(0) != actions(1)
    policy = mvl.runtime.load(file)
    assert policy.act(np.zeros(2), np.ones(2)).tolist() != policy.act(np.zeros(2), np.ones(2)).tolist()
    assert policy.reachable
