"""Discrete actions from the data to an environment: trained, evaluated, loaded; and what cannot learn them is refused."""

import json
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import mvl
from conftest import discrete, small_recipe, walk
from mvl.data.signals import Signal, Signals
from mvl.errors import UsageError
from mvl.tasks.simulator import in_space

SHORT = {"steps": 20, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10, "eval_episodes": 2}


class Line(gymnasium.Env):
    """Steps to the left or right; only whole numbers are actions."""

    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3, start=4)

    def reset(self, *, seed=None, options=None):
        self.place = np.zeros(2, np.float32)
        return self.place, {"goal": np.ones(2, np.float32)}

    def step(self, action):
        assert type(action) is int
        assert self.action_space.contains(action)
        self.place = self.place + np.float32(0.1 * (action - 5))
        return self.place, 0.0, False, False, {"success": False}


def levels(*values: float) -> Signals:
    return Signals(actions=(Signal("move", ("move",), levels=values),))


def test_a_discrete_environment_gets_whole_numbers(tmp_path):
    data = replace(discrete(walk(), (3,)), signals=levels(4.0, 5.0, 6.0))
    task = mvl.Task(env=lambda: gymnasium.wrappers.TimeLimit(Line(), 3), data=data)
    run = mvl.train(task, small_recipe("bc"), run=tmp_path / "run", workers=1, **SHORT)
    described = json.loads((run / "run.json").read_text())
    assert described["shapes"]["levels"] == [3]
    assert described["shapes"]["action"] == 3
    assert described["data"]["action_levels"] == [[4.0, 5.0, 6.0]]
    policy = mvl.load_policy(run)
    found = policy.act(np.random.default_rng(0).normal(size=(50, 2)), np.ones((50, 2)), temperature=3.0)
    assert set(found.ravel()) == {4.0, 5.0, 6.0}


def test_what_cannot_learn_discrete_actions_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UsageError, match="policy flow has continuous actions only"):
        mvl.train(discrete(walk(), (0, 2)), "fbc", run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_actions_are_those_of_the_space():
    spaces = gymnasium.spaces
    action = np.array([1.0, 0.0], np.float32)
    assert in_space(action, spaces.Box(-1, 1, (2,))) is action
    assert in_space(action[:1], spaces.Discrete(2)) == 1
    assert in_space(action, spaces.MultiDiscrete([2, 2])).dtype == np.int64
    assert in_space(action, spaces.MultiBinary(2)).tolist() == [1, 0]
