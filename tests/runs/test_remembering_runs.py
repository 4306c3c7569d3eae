"""Policies that answer chunks or have a history: from the data to evaluations, plans and loaded policies."""

import gymnasium
import numpy as np
import pytest

import mvl
from conftest import small_recipe, walk
from mvl.errors import UsageError
from mvl.runs.folder import RunFolder

SHORT = {"steps": 20, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10, "eval_episodes": 2}
PLAN = {"plan": "graph", "plan_nodes": 20, "plan_steps": 3}


class Plane(gymnasium.Env):
    """Moves by a tenth of the action, for seven steps."""

    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        self.place, self.steps = np.zeros(2, np.float32), 0
        return self.place, {"goal": np.ones(2, np.float32)}

    def step(self, action):
        self.place, self.steps = self.place + np.float32(0.1) * action, self.steps + 1
        return self.place, 0.0, self.steps == 7, False, {"success": False}


def trained(folder, **settings):
    task = mvl.Task(env=lambda: Plane(), data=walk())
    return mvl.train(task, small_recipe("gcivl"), run=folder / "run", workers=1, **settings, **PLAN, **SHORT)


@pytest.fixture(scope="module")
def chunked(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("chunked"), chunk=3)


@pytest.fixture(scope="module")
def with_history(tmp_path_factory):
    """With chunks, too."""
    return trained(tmp_path_factory.mktemp("history"), history=3, chunk=2)


def test_the_runs_tell_what_they_remember(chunked, with_history):
    one, other = (RunFolder.open(run)[1] for run in (chunked, with_history))
    assert one.experiment.recipe.learning.chunk == one.shapes.chunk == 3
    assert one.experiment.schedule.execute == "open"
    assert other.experiment.recipe.learning.history == 3
    assert (other.shapes.observation, other.shapes.goal, other.shapes.plain) == (6, 2, False)


def rolled_out(policy, steps: int = 7) -> np.ndarray:
    """The places of an episode in `Plane`, played by hand."""
    places, goal = [np.zeros(2, np.float32)], np.ones(2, np.float32)
    for _ in range(steps):
        places.append(places[-1] + np.float32(0.1) * policy.act(places[-1], goal))
    return np.array(places)


@pytest.mark.parametrize(
    ("made", "execute", "plan"),
    [
        ("chunked", "open", "graph"),
        ("chunked", "blended", "none"),
        ("with_history", "open", "none"),
        ("with_history", "blended", "graph"),
    ],
)
def test_a_loaded_policy_acts_as_evaluations_do(made, execute, plan, request):
    run, settings = request.getfixturevalue(made), {"plan": plan, "execute": execute}
    played = mvl.evaluate(run, episodes=2, workers=1, env=lambda: Plane(), record=True, **settings)
    policy = mvl.load_policy(run, **settings)
    for path in played.paths:
        policy.reset()
        assert np.allclose(rolled_out(policy), path, atol=1e-5)


def test_a_chunk_is_executed_open_loop_until_the_goal_changes(chunked):
    policy = mvl.load_policy(chunked, plan="none")
    place, goal = np.zeros(2), np.ones(2)
    chunk = policy.act_chunk(place, goal)
    assert chunk.shape == (3, 2)
    assert np.allclose([policy.act(place + step, goal) for step in range(2)], chunk[:2])  # wherever it is
    other = policy.act_chunk(place, -goal)
    assert np.allclose(policy.act(place, -goal), other[0])
    assert not np.allclose(other, chunk)


def test_rows_are_episodes(chunked):
    policy = mvl.load_policy(chunked, plan="none")
    states, goals = np.random.default_rng(0).normal(size=(2, 5, 2))
    chunks = policy.act_chunk(states, goals)
    assert chunks.shape == (5, 3, 2)
    together = np.stack([policy.act(states, goals) for _ in range(3)], axis=1)
    assert np.allclose(together, chunks)


def test_earlier_observations_are_remembered_or_given(with_history):
    policy = mvl.load_policy(with_history, plan="none")
    places, goal = np.random.default_rng(0).normal(size=(5, 2)), np.ones(2)
    alone = policy.act_chunk(places[0], goal)
    assert np.allclose(alone, policy.act_chunk(np.tile(places[0], 3), goal))  # what came before the start
    policy.act_chunk(places[1], goal)
    remembered = policy.act_chunk(places[2], goal)
    assert np.allclose(remembered, policy.act_chunk(places[:3].ravel(), goal))
    assert not np.allclose(remembered, policy.act_chunk(np.tile(places[2], 3), goal))
    policy.reset()
    assert np.allclose(policy.act_chunk(places[0], goal), alone)
    assert policy.value(places, goal) == pytest.approx(policy.value(np.tile(places, 3), goal))
    with pytest.raises(UsageError, match=r"observation has shape \(4,\); its last axis must have length 2"):
        policy.act(np.zeros(4), goal)
