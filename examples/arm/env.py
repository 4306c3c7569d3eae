"""The arm as a Gymnasium environment whose goals are configurations of the joints and the gripper."""

from typing import Any

import gymnasium
import numpy as np
from arm import JOINTS, LIMITS, REACH, Arm, random_joints
from demonstrator import demonstrate

STEPS = 150
"""Of an episode."""
NEAR, STILL = 0.2, 0.02
"""Success: every joint is within this many radians of the goal and moved less than this in the last step."""
FULL = np.full(JOINTS, REACH)
"""The largest action, in radians."""
UNSEEN = 2**31
"""Seeds from here on are not used for demonstrations that are written to files."""


class ArmEnv(gymnasium.Env):
    """Task 1 has random goals, task 2 the ends of demonstrations that are in no file; both begin at a random configuration."""

    observation_space = gymnasium.spaces.Box(np.append(-LIMITS, 0.0), np.append(LIMITS, 1.0), dtype=np.float64)
    action_space = gymnasium.spaces.Box(np.append(-FULL, -1.0), np.append(FULL, 1.0), dtype=np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        random = self.np_random
        self.arm = Arm(random_joints(random), random.integers(2))
        if (options or {}).get("task_id", 1) == 1:
            self.goal = np.append(random_joints(random), random.integers(2))
        else:
            self.goal = demonstrate(np.random.default_rng(UNSEEN + int(random.integers(UNSEEN)))).observations[-1]
        return self.arm.observation, {"goal": self.goal}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        before = self.arm.joints
        self.arm.move(np.asarray(action, float), self.np_random)
        apart = np.abs(self.arm.observation - self.goal)
        still = np.abs(self.arm.joints - before).max() < STILL
        success = bool(apart[:JOINTS].max() < NEAR and apart[JOINTS] < 0.5 and still)
        return self.arm.observation, float(success), False, False, {"success": success}


def make() -> gymnasium.Env:
    """The environment, with a limit on the length of an episode."""
    return gymnasium.wrappers.TimeLimit(ArmEnv(), STEPS)


def limits_of(box: gymnasium.spaces.Box) -> np.ndarray:
    """Lowest and highest numbers of a space, (2, dimensions)."""
    return np.stack([box.low, box.high])


class InDegrees(gymnasium.Wrapper):
    """The same arm with joints and their changes in degrees."""

    factors = np.append(np.full(JOINTS, 180 / np.pi), 1.0)

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        box = gymnasium.spaces.Box
        self.observation_space = box(*(limits_of(env.observation_space) * self.factors), dtype=np.float64)
        self.action_space = box(*(limits_of(env.action_space) * self.factors), dtype=np.float64)

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        observation, about = self.env.reset(**options)
        return observation * self.factors, {"goal": about["goal"] * self.factors}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observation, *rest = self.env.step(np.asarray(action, float) / self.factors)
        return observation * self.factors, *rest


def make_in_degrees() -> gymnasium.Env:
    """The environment for demonstrations that were written with --degrees."""
    return InDegrees(make())
