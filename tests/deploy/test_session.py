"""The conversation with one client, without a network."""

from dataclasses import replace

import numpy as np
import pytest
from serving import served

import mvl
from mvl.deploy.limits import Limits
from mvl.deploy.messages import pack
from mvl.deploy.session import Session
from mvl.errors import MvlError, UsageError

HERE, GOAL = np.float32([1.0, 2.0]), np.float32([20.0, 16.0])


@pytest.fixture
def session(offered):
    return Session(offered)


def with_ranges(offered, **limits):
    """The same run, trained on data in [0, 10] with standard deviation 2, and with limits."""
    ranges = {"low": [0.0, 0.0], "high": [10.0, 10.0], "std": [2.0, 2.0]}
    described = replace(offered.description, data={**offered.description.data, "observations": ranges})
    return replace(offered, description=described, limits=Limits(**limits))


def ask(session, **message):
    return session.answer(pack(message))


def test_the_answer_is_the_policys_action(session, served_run):
    expected = mvl.load_policy(served_run, plan="none").act(HERE, GOAL)
    answer = ask(session, observation=HERE, goal=GOAL)
    assert answer["actions"].shape == (1, 2)
    assert answer["actions"].dtype == np.float32
    assert answer["actions"][0].tolist() == expected.tolist()
    assert answer["server_timing"]["infer_ms"] > 0
    assert (answer["in_distribution"], answer["distance"], answer["limited"]) == (None, None, False)


def test_a_goal_may_be_named_and_an_observation_be_a_state(session):
    named = ask(session, **{"observation/state": HERE, "observation/image": np.zeros((2, 2, 3), np.uint8), "prompt": "corner"})
    assert named["actions"].tolist() == ask(session, observation=HERE.tolist(), goal=GOAL)["actions"].tolist()


def test_metadata_describes_the_policy(session):
    about = session.metadata
    assert (about["observation_size"], about["goal_size"], about["action_size"], about["action_horizon"]) == (2, 2, 2, 1)
    assert about["action_range"] == ((-1.0, -1.0), (1.0, 1.0))
    assert about["goals"] == ["corner"]
    assert (about["task"], about["recipe"]) == ("pointmaze-medium-navigate-v0", "gcivl")
    pack(about)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({}, "has no observation"),
        ({"observation": HERE}, "has no goal"),
        ({"observation": HERE, "prompt": 3}, "has no goal"),
        ({"observation": HERE, "prompt": "cornr"}, "no goal named 'cornr'; did you mean corner?"),
        ({"observation": HERE[:1], "goal": GOAL}, r"observation has shape \(1,\)"),
        ({"observation": HERE, "goal": np.zeros(3)}, r"goal has shape \(3,\)"),
        ({"observation": np.array([np.nan, 0]), "goal": GOAL}, "not finite"),
        ({"observation": HERE, "goal": np.array([np.inf, 0])}, "not finite"),
        ({"observation": "text", "goal": GOAL}, "send numbers"),
        ({"observation/joints": HERE, "goal": GOAL}, "none of the parts"),
        ({"observation": HERE, "goal": GOAL, "timestamp": 5.0}, "s old"),
    ],
)
def test_a_wrong_message_gets_an_error_and_never_an_action(session, message, said):
    with pytest.raises(UsageError, match=said):
        ask(session, **message)


def test_an_observation_outside_the_data_is_marked(offered):
    session = Session(with_ranges(offered))
    inside, outside = (ask(session, observation=np.float32(state), goal=GOAL) for state in ([10.1, 0], [14, 0]))
    assert inside["in_distribution"] is True
    assert outside["in_distribution"] is False
    assert outside["distance"] == 2.0


def test_and_refused_if_the_server_is_strict(offered):
    session = Session(with_ranges(offered, strict=True, margin=1.5))
    assert ask(session, observation=np.float32([13, 0]), goal=GOAL)["in_distribution"]
    with pytest.raises(UsageError, match="2 standard deviations outside the range of the training data"):
        ask(session, observation=np.float32([14, 0]), goal=GOAL)


def test_a_run_without_ranges_cannot_be_served_strictly(served_run):
    with pytest.raises(UsageError, match="does not say what range its data had, which --strict needs"):
        served(served_run, Limits(strict=True))


def test_actions_are_limited_until_a_reset(offered):
    session = Session(with_ranges(offered, max_action=(0.01,), max_change=(0.002,)))
    first = ask(session, observation=HERE, goal=GOAL)
    assert first["limited"]
    assert np.abs(first["actions"]).max() <= 0.01
    second = ask(session, observation=9 * HERE, goal=HERE)
    assert np.abs(second["actions"] - first["actions"]).max() <= 0.002 + 1e-6
    assert session.answer(pack({"reset": True})) == {"reset": True}
    assert session.limiter.last is None


def test_an_action_that_is_not_finite_is_never_sent(offered, monkeypatch):
    session = Session(offered)
    monkeypatch.setattr(session.policy, "act", lambda *_: np.array([np.nan, 0.0], np.float32))
    with pytest.raises(MvlError, match="the policy's action is not finite"):
        ask(session, observation=HERE, goal=GOAL)


def test_too_many_messages_are_refused(offered):
    session = Session(replace(offered, limits=Limits(max_rate=2.0)), clock=lambda: 1.0)
    assert ask(session, observation=HERE, goal=GOAL)
    assert ask(session, observation=HERE, goal=GOAL)
    with pytest.raises(UsageError, match="more than 2 messages in a second"):
        ask(session, observation=HERE, goal=GOAL)


def test_clients_that_plan_do_not_share_a_path(served_run):
    """Two sessions, asked in turn, answer as each does alone; so does one after a reset."""
    offered = served(served_run, plan="graph")
    walks = [np.linspace(start, end, 12, dtype=np.float32) for start, end in (([0, 0], [18, 3]), ([19, 19], [2, 8]))]
    goals = np.float32([[20, 4], [1, 7]])
    alone = []
    for states, goal in zip(walks, goals, strict=True):
        session = Session(offered)
        alone.append([ask(session, observation=state, goal=goal)["actions"].tolist() for state in states])
    sessions = [Session(offered), Session(offered)]
    together = []
    for pair in zip(*walks, strict=True):
        asked = zip(sessions, pair, goals, strict=True)
        together.append([ask(session, observation=state, goal=goal)["actions"].tolist() for session, state, goal in asked])
    assert [list(column) for column in zip(*together, strict=True)] == alone
    sessions[0].answer(pack({"reset": True}))
    again = [ask(sessions[0], observation=state, goal=goals[1])["actions"].tolist() for state in walks[1]]
    assert again == alone[1]
