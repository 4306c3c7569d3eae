"""Episodes of a simulation with where everything was at each step, so that they can be shown again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mvl.errors import UsageError
from mvl.tasks.simulator import Simulator, Start

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


def physics(env: Any) -> tuple[Any, Any]:
    """MuJoCo's model and data of an environment."""
    bare = env.unwrapped
    if not hasattr(bare, "model") or not hasattr(bare, "data"):
        raise UsageError("the viewer shows environments that are simulated by MuJoCo; film this one with mvl video.")
    return bare.model, bare.data


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


def play_recorded(
    simulator: Simulator, start: Start, choose: Choose, report: Callable[[int], None] = lambda step: None
) -> Episode:
    """Play one episode, and keep how everything looked at each step."""
    if hasattr(simulator, "keeps_goal_state"):
        simulator.keeps_goal_state = True
    observation, goal = simulator.reset(start)
    model, data = physics(simulator.env)
    target = snapshot(*(getattr(simulator, "goal_state", None) or (model, data)))
    began, seen, observations = data.time, [snapshot(model, data)], [observation]
    while not simulator.done:
        observation = simulator.step(choose(observation, goal, len(seen) - 1))
        seen.append(snapshot(model, data))
        observations.append(observation)
        report(len(seen) - 1)
    poses, colors, path = (np.stack([getattr(one, name) for one in seen]) for name in ("poses", "colors", "tip"))
    seconds = (data.time - began) / (len(seen) - 1)
    success = list(simulator.success)
    return Episode(start.goal, success, np.array(observations, np.float32), goal, target, poses, colors, path, seconds)
