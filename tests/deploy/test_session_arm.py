"""Sessions of an arm whose data has names, an origin, a gripper with two levels, a history and chunks."""

from dataclasses import replace

import numpy as np
import pytest
from serving import arm_run, served

import mvl
from mvl.deploy.limits import Limits
from mvl.deploy.messages import pack
from mvl.deploy.session import Session
from mvl.errors import UsageError

GOAL = np.array([1000.5, 0.5, 1.0])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return arm_run(tmp_path_factory.mktemp("arm") / "run", history=2, chunk=3)


def ask(session, **message):
    return session.answer(pack(message))


def walk(seed):
    """Observations of an episode in the units of the source."""
    return np.array([1000.0, 0, 0.5]) + np.cumsum(np.random.default_rng(seed).uniform(-0.1, 0.1, (7, 3)), axis=0)


def test_metadata_has_names_units_levels_and_the_rate(run):
    about = Session(served(run)).metadata
    assert (about["observation_size"], about["goal_size"], about["action_size"], about["hz"]) == (3, 3, 3, 20.0)
    assert about["action_levels"] == ((), (), (10.0, 20.0))
    assert about["action_range"][1] == (0.5, 0.5, 1.0)
    assert about["signals"]["observations"][0]["name"] == "joint_position"
    pack(about)


def test_parts_by_name_and_one_array_are_the_same_observation(run):
    offered, state = served(run), walk(0)[0]
    whole = ask(Session(offered), observation=state, goal=GOAL)
    parts = {"observation/joint_position": state[:2], "observation/gripper": state[2:], "observation/image": np.zeros((2, 2))}
    goal = {"goal/joint_position": GOAL[:2], "goal/gripper": GOAL[2]}
    named = ask(Session(offered), **parts, **goal)
    assert named["actions"].tolist() == whole["actions"].tolist()
    assert whole["actions"][0].tolist() == mvl.load_policy(run).act(state, GOAL).astype(np.float32).tolist()
    assert whole["actions"][0, 2] in (10.0, 20.0)


def test_distances_are_those_of_the_data_whatever_its_origin(run):
    session = Session(served(run))
    assert ask(session, observation=np.array([1001.0, 0, 0]), goal=GOAL)["in_distribution"] is True
    outside = ask(session, observation=np.array([1002.0, 0, 0]), goal=GOAL)
    assert (outside["in_distribution"], outside["distance"]) == (False, 2.0)


def test_histories_and_chunks_of_clients_are_their_own(run):
    offered, walks = served(run), [walk(1), walk(2)]
    alone = []
    for states in walks:
        session = Session(offered)
        alone.append([ask(session, observation=state, goal=GOAL)["actions"].tolist() for state in states])
    sessions = [Session(offered), Session(offered)]
    for step, pair in enumerate(zip(*walks, strict=True)):
        for number, (session, state) in enumerate(zip(sessions, pair, strict=True)):
            assert ask(session, observation=state, goal=GOAL)["actions"].tolist() == alone[number][step]
    assert alone[0] != alone[1]


def test_levels_are_not_limited(run):
    session = Session(served(run, Limits(max_action=(1e-4,), max_change=(1e-5,))))
    answers = np.concatenate([ask(session, observation=state, goal=GOAL)["actions"] for state in walk(3)])
    assert np.abs(answers[:, :2]).max() <= 1e-4
    assert set(answers[:, 2]) <= {10.0, 20.0}


def test_all_actions_of_a_chunk_on_request(tmp_path):
    run = arm_run(tmp_path / "run", chunk=3)
    session = Session(replace(served(run), chunks=True))
    assert session.metadata["action_horizon"] == 3
    answer = ask(session, observation=walk(0)[0], goal=GOAL)["actions"]
    assert np.allclose(answer, mvl.load_policy(run).act_chunk(walk(0)[0], GOAL))
    assert answer.shape == (3, 3)


def test_but_not_if_the_policy_needs_every_observation(run):
    with pytest.raises(UsageError, match="needs every observation for its history; leave out --chunks"):
        replace(served(run), chunks=True)


def test_a_history_is_not_sent_at_once(run):
    with pytest.raises(UsageError, match=r"observation has shape \(6,\); it must be \(3,\)"):
        ask(Session(served(run)), observation=np.zeros(6), goal=GOAL)
