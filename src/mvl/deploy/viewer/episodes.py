"""Episodes of a simulation with where everything was at each step, so that they can be shown again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import mujoco
import numpy as np

from mvl.evaluation.environments import Start

TIPS = ("ur5e/robotiq/pinch", "end_effector")
"""Sites between an arm's fingers: their way is the arm's path."""
Choose = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""An action from an observation (d,), a goal (k,) and the time."""


@dataclass(frozen=True)
class Snapshot:
    """How a simulation looks at one time."""

    poses: np.ndarray  # (bodies, 7) position and quaternion (w, x, y, z)
    colors: np.ndarray  # (geoms, 4) from 0 to 255
    tip: np.ndarray  # (3,) where the arm's hand is, or the body that walks


@dataclass(frozen=True)
class Episode:
    """One episode, from its start to its end."""

    task: int
    success: list[bool]
    """One, or in a kitchen one for each subtask."""
    observations: np.ndarray  # (length + 1, d)
    goal: np.ndarray  # (k,) as the policy is told
    target: Snapshot
    """How it looks where the goal is reached."""
    poses: np.ndarray  # (length + 1, bodies, 7)
    colors: np.ndarray  # (length + 1, geoms, 4)
    path: np.ndarray  # (length + 1, 3)
    step_seconds: float
    """Simulated time between two actions."""

    @property
    def length(self) -> int:
        return len(self.poses) - 1


def simulator(env: Any) -> tuple[Any, Any]:
    """MuJoCo's model and data of an environment; a kitchen keeps them in a robot of its own."""
    inner = getattr(env.unwrapped, "robot_env", env.unwrapped)
    return inner.model, inner.data


def tip_site(model: Any) -> int | None:
    """The site between an arm's fingers, if there is an arm."""
    found = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, name) for name in TIPS]
    return max(found) if max(found) >= 0 else None


def snapshot(model: Any, data: Any) -> Snapshot:
    # MuJoCo's rule: a geom's own color beats its material's, and this gray says that it has none.
    plain = (model.geom_matid >= 0) & (model.geom_rgba == np.array([0.5, 0.5, 0.5, 1])).all(axis=1)
    colors = np.array(model.geom_rgba)
    colors[plain] = model.mat_rgba[model.geom_matid[plain]]
    site = tip_site(model)
    return Snapshot(
        np.concatenate([data.xpos, data.xquat], axis=1, dtype=np.float32),
        np.round(255 * colors).astype(np.uint8),
        np.array(data.xpos[1] if site is None else data.site_xpos[site], np.float32),
    )


class GoalSeen(gymnasium.Wrapper):
    """Keeps how an environment of OGBench looks at its goal: asked to draw the goal, it puts everything there for a moment."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.unwrapped.render = self._keep  # type: ignore[method-assign]
        return self.env.reset(seed=seed, options={**(options or {}), "render_goal": True})

    def _keep(self) -> None:
        self.target = snapshot(*simulator(self))


def kitchen_at(env: Any, goal: np.ndarray) -> Snapshot:
    """How a kitchen looks at its goal, which is a position of all joints."""
    model, _ = simulator(env)
    imagined = mujoco.MjData(model)
    imagined.qpos[:] = goal
    mujoco.mj_forward(model, imagined)
    return snapshot(model, imagined)


def play_recorded(slot: Any, start: Start, choose: Choose, report: Callable[[int], None] = lambda step: None) -> Episode:
    """Play one episode, and keep how everything looked at each step."""
    kitchen = hasattr(slot.env.unwrapped, "robot_env")
    if not kitchen and not isinstance(slot.env, GoalSeen):
        slot.env = GoalSeen(slot.env)
    observation, goal = slot.reset(start)
    target = kitchen_at(slot.env, goal) if kitchen else slot.env.target
    model, data = simulator(slot.env)
    began, seen, observations = data.time, [snapshot(model, data)], [observation]
    while not slot.done:
        observation = slot.step(choose(observation, goal, len(seen) - 1))
        seen.append(snapshot(model, data))
        observations.append(observation)
        report(len(seen) - 1)
    poses, colors, path = (np.stack([getattr(one, name) for one in seen]) for name in ("poses", "colors", "tip"))
    seconds = (data.time - began) / (len(seen) - 1)
    return Episode(start.task, list(slot.success), np.array(observations, np.float32), goal, target, poses, colors, path, seconds)
