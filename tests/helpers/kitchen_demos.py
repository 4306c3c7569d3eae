"""A few short episodes in the real kitchen, recorded as Minari records them."""

import contextlib
import io
import warnings
from pathlib import Path

import numpy as np
import pytest

EPISODES, STEPS = 10, 12
NAME = "D4RL/kitchen/partial-v2"
SUBTASKS = ["microwave", "kettle", "light switch", "slide cabinet"]


def needs_kitchen() -> None:
    """Skip a module where the kitchen is not installed."""
    with contextlib.redirect_stderr(io.StringIO()):
        pytest.importorskip("gymnasium_robotics", reason="the kitchen needs gymnasium-robotics")
    pytest.importorskip("minari", reason="the kitchen's data needs minari")


def record(store: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, np.ndarray]]:
    """Record a dataset into a new Minari store; returns observations (rows, 59) and actions (rows - 1, 9) of each episode."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(store))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Minari warns about a missing description and a folder that is not removed
        return _recorded()


def _recorded() -> list[tuple[np.ndarray, np.ndarray]]:
    import gymnasium
    import gymnasium_robotics
    import minari

    gymnasium.register_envs(gymnasium_robotics)
    settings = {"tasks_to_complete": SUBTASKS, "max_episode_steps": STEPS, "disable_env_checker": True}
    collector = minari.DataCollector(gymnasium.make("FrankaKitchen-v1", **settings))
    generator = np.random.default_rng(0)
    made = []
    for seed in range(EPISODES):
        states, actions = [collector.reset(seed=seed)[0]["observation"]], generator.uniform(-1, 1, (STEPS, 9))
        states += [collector.step(action)[0]["observation"] for action in actions]
        made.append((np.array(states), actions))
    collector.create_dataset(NAME)
    collector.close()
    return made
