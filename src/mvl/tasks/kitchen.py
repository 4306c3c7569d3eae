"""D4RL's kitchen: demonstrations from Minari, evaluated in FrankaKitchen. Needs gymnasium-robotics and minari."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.imports.importing import pair_at, write_pair
from mvl.data.sources import minari
from mvl.data.sources.episodes import Checked, ColumnNames, checked
from mvl.data.sources.npz import default_folder
from mvl.errors import DataError, MvlError, UsageError
from mvl.tasks.ogbench import Published, alphas
from mvl.tasks.simulator import Start
from mvl.tasks.task import Task, ViewerCamera

WITH_CABINET = ("microwave", "kettle", "light switch", "slide cabinet")
SUBTASKS = {
    "partial": WITH_CABINET,
    "mixed": ("microwave", "kettle", "bottom burner", "light switch"),
    "complete": WITH_CABINET,
}
"""Subtasks of an episode, by dataset (D4RL)."""
NEWEST_MUJOCO = (3, 11)
"""Later versions compute other contacts between meshes, which changes episodes."""
LIMIT = 280
"""Steps of an episode."""
AT_ONCE = 16
"""Each environment takes 60 MB."""
OBSERVATION_SIZE = 59
"""Length of an observation of FrankaKitchen: positions and velocities of the robot, then of the objects."""
ROBOT, OBJECTS = slice(0, 9), slice(18, 39)
"""Parts of an observation with the positions of the robot and of the objects."""
COLUMNS = ColumnNames(observations=("observations/observation",), actions=("actions",))
VIEW = ViewerCamera((0.35, -0.83, 0.43), 1.7, 0.36, 0, "x 1")


def tasks() -> list[Task]:
    return [_task(variant) for variant in SUBTASKS]


def _task(variant: str) -> Task:
    # Settings are published for the contrastive value only, and equal those of OGBench's play data; so do the others here.
    published = Published("play", alphas(1.0, 3.0, 0.3, 1.0), 1.0, expectile=0.7, subgoal_steps=10)
    name = f"kitchen-{variant}-v2"
    return Task(
        name=name, dataset=name, world=f"kitchen-{variant}", subtasks=SUBTASKS[variant],
        env=partial(make_env, variant), simulator=KitchenSimulator, at_once=AT_ONCE, limit=_limit, check=check_installed,
        fetch=fetch, origin="download (Minari)", settings=published.settings, view=VIEW, camera=_camera, episode_seconds=2.6,
    )  # fmt: skip


def _limit() -> int:
    return LIMIT


def check_installed() -> None:
    """Raise MvlError if gymnasium-robotics is missing, or MuJoCo missing or too new."""
    try:
        version("gymnasium-robotics")
        installed = tuple(int(number) for number in version("mujoco").split(".")[:2]) <= NEWEST_MUJOCO
    except PackageNotFoundError:
        installed = False
    if not installed:
        raise MvlError(
            "the kitchen needs gymnasium-robotics and mujoco below 3.12; "
            "install them with: pip install 'mollified-value-learning[kitchen]'"
        )


def make_env(variant: str) -> Any:
    """FrankaKitchen with the subtasks of a dataset."""
    import gymnasium

    with contextlib.redirect_stderr(io.StringIO()):  # importing it prints advertisements
        import gymnasium_robotics

    gymnasium.register_envs(gymnasium_robotics)
    return gymnasium.make(
        "FrankaKitchen-v1", tasks_to_complete=list(SUBTASKS[variant]), max_episode_steps=LIMIT, disable_env_checker=True
    )


def _camera(env: Any) -> Any:
    """The camera that the environment itself renders with."""
    import mujoco

    view = mujoco.MjvCamera()
    for name, value in env.robot_env.mujoco_renderer.default_cam_config.items():
        setattr(view, name, value)
    return view


class KitchenSimulator:
    """FrankaKitchen, scored by every subtask, which counts if it was completed at any step."""

    def __init__(self, task: Task) -> None:
        self.env: Any = task.make_env()
        self.subtasks = task.subtasks

    def reset(self, start: Start) -> tuple[np.ndarray, np.ndarray]:
        self.done, self.success = False, [False] * len(self.subtasks)
        observation, _ = self.env.reset(seed=start.seed)
        self.observation = positions(observation["observation"])
        return self.observation, self.goal()

    def goal(self) -> np.ndarray:
        """Positions, (30,), with all subtasks completed and everything else as at the start of every episode."""
        from gymnasium_robotics.envs.franka_kitchen.kitchen_env import OBS_ELEMENT_GOALS, OBS_ELEMENT_INDICES

        goal = np.array(self.env.unwrapped.robot_env.init_qpos)
        for subtask in self.subtasks:
            goal[OBS_ELEMENT_INDICES[subtask]] = OBS_ELEMENT_GOALS[subtask]
        return goal

    def step(self, action: np.ndarray) -> np.ndarray:
        if self.done:
            return self.observation
        observation, _, terminated, truncated, info = self.env.step(action)
        self.observation = positions(observation["observation"])
        self.done = bool(terminated or truncated)
        self.success = [subtask in info["episode_task_completions"] for subtask in self.subtasks]
        return self.observation

    @property
    def goal_state(self) -> tuple[Any, Any]:
        """MuJoCo's model and data with everything at its goal."""
        import mujoco

        model = self.env.unwrapped.robot_env.model
        data = mujoco.MjData(model)
        data.qpos[:] = self.goal()
        mujoco.mj_forward(model, data)
        return model, data


def positions(observations: np.ndarray) -> np.ndarray:
    """Observations without velocities, as in D4RL: (..., 59) -> (..., 30)."""
    return np.concatenate([observations[..., ROBOT], observations[..., OBJECTS]], axis=-1)


def fetch(name: str, folder: Path | None, addresses: list[str] | None, report: Callable[[str], Any]) -> list[Path]:
    """Both files of a dataset; the second has the last tenth of the episodes. Files that exist are kept."""
    if addresses:
        raise UsageError(f"{name} comes through Minari; leave --source out, and set $MINARI_REMOTE to use another server.")
    published = f"D4RL/{name.replace('-', '/', 1)}"  # D4RL/kitchen/partial-v2
    way_out = "move it away, or put the other file of the pair beside it, and pull again."
    pair = pair_at((folder or default_folder()) / f"{name}.npz", {"source": published}, way_out=way_out)
    if not all(path.exists() for path in pair.paths):
        pair.check()
        minari.fetch(published, "the kitchen's data", "kitchen")
        episodes = checked(minari.episodes(Path(published), COLUMNS), COLUMNS)
        write_pair((_as_in_d4rl(episode, published) for episode in episodes), Path(published), pair)
    elif pair.complete():  # interrupted after both were written
        pair.clear()
    return list(pair.paths)


def _as_in_d4rl(episode: Checked, name: str) -> Checked:
    """An episode with positions only, and with actions clipped to [-1, 1], as the environment clips them."""
    if episode.observations.shape[1] != OBSERVATION_SIZE:
        size = episode.observations.shape[1]
        raise DataError(f"{name}: observations have {size} numbers instead of {OBSERVATION_SIZE}; check $MINARI_REMOTE.")
    return Checked(positions(episode.observations), np.clip(episode.actions, -1.0, 1.0), None)
