"""Environments as the evaluation uses them: one episode at a time, determined by its start and the actions."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from mvl.errors import MvlError
from mvl.files import scratch_folder

if TYPE_CHECKING:
    from mvl.tasks.task import Task

LIMIT = 1000
"""Steps of an episode where neither the task nor the environment's spec sets a limit."""
GOAL_KEYS, SUCCESS_KEYS = ("desired_goal", "goal"), ("success", "is_success")


class Start(NamedTuple):
    """The start of an episode."""

    goal: int
    """Number of the evaluation goal, from 1."""
    seed: int
    """Seed of all randomness in the episode."""


class Simulator(Protocol):
    """An environment that plays one episode at a time."""

    env: Any
    observation: np.ndarray
    done: bool
    success: list[bool]
    """Whether the goal, or each subtask, is reached at this step."""

    def reset(self, start: Start) -> tuple[np.ndarray, np.ndarray]:
        """Begin an episode; returns the first observation and the goal."""
        ...

    def step(self, action: np.ndarray) -> np.ndarray:
        """The next observation; after the end of the episode, the last one again."""
        ...


class GymSimulator:
    """Any Gymnasium environment with vector observations that provides its goals.

    The goal of an episode is `info["goal"]` after the reset, or the entry `desired_goal` or `goal` of a dictionary
    observation. Success is `info["success"]` or `info["is_success"]`, unless the task has its own `success`.
    """

    def __init__(self, task: Task) -> None:
        self.task, self.reached = task, task.success_function
        self.env: Any = task.make_env()
        self.limit = task.episode_limit(self.env)

    def reset(self, start: Start) -> tuple[np.ndarray, np.ndarray]:
        self.steps, self.done, self.success = 0, False, [False]
        options = {"task_id": start.goal} if self.task.goals > 1 else None
        # Some environments draw from NumPy's global generator instead of their own, which `reset` seeds. Without this, their
        # episodes would not be determined by the start; for all other environments it changes nothing.
        np.random.seed(start.seed % 2**32)
        observation, info = self.env.reset(seed=start.seed % 2**31, options=options)
        self._target = self._goal(observation, info)
        self.goal = self.task.inputs.vector(self._target, "goal")
        return self._observe(observation), self.goal

    def step(self, action: np.ndarray) -> np.ndarray:
        if self.done:
            return self.observation
        self.steps += 1
        wanted = in_space(self.task.action_units.original(action), self.env.action_space)
        observation, _, terminated, truncated, info = self.env.step(wanted)
        self._observe(observation)
        self.success = [self._reached(info)]
        self.done = bool(terminated or truncated or self.steps >= self.limit)
        return self.observation

    def _observe(self, observation: Any) -> np.ndarray:
        """The observation as the data has it; it is kept as the environment gives it, too."""
        self._state = self._vector(observation)
        self.observation = self.task.inputs.vector(self._state, "observation")
        return self.observation

    def _vector(self, observation: Any) -> np.ndarray:
        inner = observation.get("observation") if isinstance(observation, dict) else observation
        if inner is None:
            raise MvlError(f"{self.task}: a dictionary observation needs the key 'observation'; it has {', '.join(observation)}.")
        return np.asarray(inner, self.task.inputs.dtype).reshape(-1)

    def _goal(self, observation: Any, info: dict[str, Any]) -> np.ndarray:
        goal = info.get("goal")
        if goal is None and isinstance(observation, dict):
            goal = next((observation[key] for key in GOAL_KEYS if key in observation), None)
        if goal is None:
            raise MvlError(f"{self.task}: its environment provides no goal; return it at reset as info['goal'].")
        return np.asarray(goal, self.task.inputs.dtype).reshape(-1)

    def _reached(self, info: dict[str, Any]) -> bool:
        if self.reached is not None:
            return bool(self.reached(self._state, self._target))
        for key in SUCCESS_KEYS:
            if key in info:
                return bool(info[key])
        raise MvlError(
            f"{self.task}: its environment does not say when a goal is reached; return info['success'] at each step, "
            "or give the task a success function."
        )


def in_space(action: np.ndarray, space: Any) -> np.ndarray | int:
    """An action as a space of Gymnasium has it: one whole number if it is Discrete, whole numbers if it is MultiDiscrete."""
    kind = getattr(space, "dtype", None)
    if kind is None or not np.issubdtype(kind, np.integer):
        return action
    whole = np.rint(action).astype(kind)
    return int(whole.item()) if space.shape == () else whole


def first_states(task: Task, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """First observations (goals, d) and evaluation goals (goals, k) of a task; `seed` determines their noise."""
    with quiet_simulators():
        simulator = task.make_simulator()
        pairs = [simulator.reset(Start(number + 1, seed)) for number in range(task.goals)]
    first, goals = (np.array(found, np.float32).reshape(task.goals, -1) for found in zip(*pairs, strict=True))
    return first, goals


@contextmanager
def quiet_simulators() -> Iterator[None]:
    """For environments in this process: ignore their warnings, and remove the model files that they leave behind."""
    with scratch_folder() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, tempfile.tempdir = tempfile.tempdir, scratch
        try:
            yield
        finally:
            tempfile.tempdir = before
