"""FrankaKitchen, played as D4RL's kitchen is. Needs gymnasium-robotics."""

import contextlib
import io
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from mvl.data.kitchen import positions
from mvl.data.names import TaskName
from mvl.errors import MvlError

if TYPE_CHECKING:
    from mvl.evaluation.environments import Start

NEWEST_MUJOCO = (3, 11)
"""Later ones refuse the kitchen's model."""
LONGEST = 280
"""Steps of an episode."""


def check_installed() -> None:
    """Say what is missing before anything is started."""
    try:
        version("gymnasium-robotics")
        fits = tuple(int(number) for number in version("mujoco").split(".")[:2]) <= NEWEST_MUJOCO
    except PackageNotFoundError:
        fits = False
    if not fits:
        raise MvlError(
            "the kitchen needs gymnasium-robotics and mujoco below 3.12; "
            "install them with: pip install 'mollified-value-learning[kitchen]'"
        )


class Kitchen:
    """One kitchen; an episode in it depends on its start and the actions alone, and is scored by every subtask."""

    tasks = 1
    """All subtasks are asked for at once."""
    at_once = 16
    """Each takes 60 MB."""

    def __init__(self, dataset_name: str) -> None:
        import gymnasium

        with contextlib.redirect_stderr(io.StringIO()):  # it has news about other environments
            import gymnasium_robotics

        gymnasium.register_envs(gymnasium_robotics)
        self.subtasks = TaskName.parse(dataset_name).subtasks
        self.env: Any = gymnasium.make(
            "FrankaKitchen-v1", tasks_to_complete=list(self.subtasks), max_episode_steps=LONGEST, disable_env_checker=True
        )

    def reset(self, start: "Start") -> tuple[np.ndarray, np.ndarray]:
        self.done, self.success = False, [False] * len(self.subtasks)
        observation, _ = self.env.reset(seed=start.seed)
        self.observation = positions(observation["observation"])
        return self.observation, self.goal()

    def goal(self) -> np.ndarray:
        """Where everything is to be, (30,): the robot and what has no subtask as they are at the start of every episode."""
        from gymnasium_robotics.envs.franka_kitchen.kitchen_env import OBS_ELEMENT_GOALS, OBS_ELEMENT_INDICES

        goal = np.array(self.env.unwrapped.robot_env.init_qpos)
        for subtask in self.subtasks:
            goal[OBS_ELEMENT_INDICES[subtask]] = OBS_ELEMENT_GOALS[subtask]
        return goal

    def step(self, action: np.ndarray) -> np.ndarray:
        """The next observation; the last one again once the episode is over. A subtask once done counts, undone or not."""
        if self.done:
            return self.observation
        observation, _, terminated, truncated, info = self.env.step(action)
        self.observation = positions(observation["observation"])
        self.done = bool(terminated or truncated)
        self.success = [subtask in info["episode_task_completions"] for subtask in self.subtasks]
        return self.observation
