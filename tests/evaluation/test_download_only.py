"""Tasks whose data can only be fetched: their environments answer, and files in their layout train and are played."""

import numpy as np
import pytest

import mvl
from conftest import small_recipe
from mvl.evaluation.environments import Environments
from mvl.runs import metrics
from mvl.runs.folder import RunFolder
from mvl.tasks import find_task
from mvl.tasks.simulator import Start
from mvl.types import Shapes

# task without its end: dimensions of observations, actions and the simulator's positions
TASKS = {"antsoccer-arena-navigate": (42, 8, 22), "humanoidmaze-medium-navigate": (69, 21, 28)}
SCHEDULE = {"steps": 20, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10, "eval_episodes": 1}
SHORT = 15
"""Steps after which an episode is ended here; the environments themselves go on for thousands."""


@pytest.fixture
def short_episodes(monkeypatch):
    reset, step = Environments.reset, Environments.step

    def counted_reset(self, starts):
        self.played = 0
        return reset(self, starts)

    def counted_step(self, actions):
        self.played += 1
        observations, done, success = step(self, actions)
        return observations, done | (self.played >= SHORT), success

    monkeypatch.setattr(Environments, "reset", counted_reset)
    monkeypatch.setattr(Environments, "step", counted_step)


def write(path, observation, action, positions, seed):
    """Three episodes of noise in the layout of the published files."""
    generator, rows = np.random.default_rng(seed), 60
    columns = {"observations": observation, "qpos": positions, "qvel": positions - 1}
    arrays = {name: generator.normal(size=(rows, width)).astype(np.float32) for name, width in columns.items()}
    actions = generator.uniform(-1, 1, (rows, action)).astype(np.float32)
    np.savez(path, actions=actions, terminals=np.arange(rows) % 20 == 19, **arrays)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("oracle", [False, True])
def test_the_environments_answer(name, oracle):
    observation, action, _ = TASKS[name]
    with Environments(find_task(f"{name}-{'oraclerep-' if oracle else ''}v0"), 1) as environments:
        first, goals = environments.reset([Start(1, 0)])
        for _ in range(5):
            last, done, success = environments.step(np.ones((1, action), np.float32))
    assert first.shape == last.shape == (1, observation)
    assert goals.shape == (1, 2 if oracle else observation)  # where the ball, or the body, should be
    assert np.isfinite(last).all()
    assert not (first == last).all()
    assert (done.tolist(), success.tolist()) == ([False], [[False]])


@pytest.mark.parametrize(("name", "oracle"), list(zip(TASKS, (True, False), strict=True)))
def test_a_file_trains_and_is_played(tmp_path, short_episodes, name, oracle):
    observation, action, positions = TASKS[name]
    for seed, part in enumerate(("", "-val")):
        write(tmp_path / f"{name}-v0{part}.npz", observation, action, positions, seed)
    task = f"{name}-{'oraclerep-' if oracle else ''}v0"
    run = mvl.train(task, small_recipe("gcivl"), data=tmp_path, run=tmp_path / "run", workers=1, **SCHEDULE)
    (row,) = metrics.read(run / "evaluations.jsonl")
    assert row["tasks"] == [0.0] * 5
    assert row["mean_length"] == SHORT
    assert RunFolder.open(run)[1].shapes == Shapes(observation, action, 2 if oracle else observation, plain=not oracle)
