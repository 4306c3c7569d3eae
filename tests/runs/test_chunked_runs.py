"""Runs whose policies answer chunks: from the data to evaluations, plans and loaded policies."""

import gymnasium
import numpy as np
import pytest

import mvl
from conftest import small_recipe, walk
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


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chunked")
    data = mvl.Task(env=lambda: Plane(), data=walk())
    return mvl.train(data, small_recipe("gcivl"), run=folder / "run", workers=1, chunk=3, **PLAN, **SHORT)


def test_the_run_tells_its_chunks(run):
    _, description = RunFolder.open(run)
    assert description.experiment.recipe.learning.chunk == description.shapes.chunk == 3
    assert description.experiment.schedule.execute == "open"


def rolled_out(policy, steps: int = 7) -> np.ndarray:
    """The places of an episode in `Plane`, played by hand."""
    places, goal = [np.zeros(2, np.float32)], np.ones(2, np.float32)
    for _ in range(steps):
        places.append(places[-1] + np.float32(0.1) * policy.act(places[-1], goal))
    return np.array(places)


@pytest.mark.parametrize("execute", ["open", "blended"])
@pytest.mark.parametrize("plan", ["none", "graph"])
def test_a_loaded_policy_executes_chunks_as_evaluations_do(run, execute, plan):
    settings = {"plan": plan, "execute": execute}
    played = mvl.evaluate(run, episodes=2, workers=1, env=lambda: Plane(), record=True, **settings)
    policy = mvl.load_policy(run, **settings)
    for path in played.paths:
        policy.reset()
        assert np.allclose(rolled_out(policy), path, atol=1e-5)


def test_a_chunk_is_executed_open_loop_until_the_goal_changes(run):
    policy = mvl.load_policy(run, plan="none")
    place, goal = np.zeros(2), np.ones(2)
    chunk = policy.act_chunk(place, goal)
    assert chunk.shape == (3, 2)
    assert np.allclose([policy.act(place + step, goal) for step in range(2)], chunk[:2])  # wherever it is
    other = policy.act_chunk(place, -goal)
    assert np.allclose(policy.act(place, -goal), other[0])
    assert not np.allclose(other, chunk)


def test_rows_are_episodes(run):
    policy = mvl.load_policy(run, plan="none")
    states, goals = np.random.default_rng(0).normal(size=(2, 5, 2))
    chunks = policy.act_chunk(states, goals)
    assert chunks.shape == (5, 3, 2)
    together = np.stack([policy.act(states, goals) for _ in range(3)], axis=1)
    assert np.allclose(together, chunks)
