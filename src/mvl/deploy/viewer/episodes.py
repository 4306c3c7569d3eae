"""Recorded episodes of a simulation: positions and colors at every step, to be shown later."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mvl.errors import UsageError
from mvl.tasks.simulator import Simulator, Start

TIPS = ("ur5e/robotiq/pinch", "end_effector")
"""Sites between an arm's fingers, whose positions are shown as the arm's path."""
Choose = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""An action from an observation (d,), a goal (k,) and the time."""


@dataclass(frozen=True)
class Snapshot:
    """What a simulation looks like at one time."""

    poses: np.ndarray  # (bodies, 7) position and quaternion (w, x, y, z)
    colors: np.ndarray  # (geoms, 4) from 0 to 255
    tip: np.ndarray  # (3,) position of the arm's hand, or of the body that walks


@dataclass(frozen=True)
class RecordedEpisode:
    """One episode with the state of the simulation at every step."""

    task: int
    success: list[bool]
    """Whether the goal was reached, or each of the task's subtasks."""
    observations: np.ndarray  # (length + 1, d)
    goal: np.ndarray  # (k,) the input of the policy
    target: Snapshot
    """The simulation with everything at its goal."""
    poses: np.ndarray  # (length + 1, bodies, 7)
    colors: np.ndarray  # (length + 1, geoms, 4)
    path: np.ndarray  # (length + 1, 3) positions of the tip
    step_seconds: float
    """Simulated time between two actions."""

    @property
    def length(self) -> int:
        """Number of steps."""
        return len(self.poses) - 1


def physics(env: Any) -> tuple[Any, Any]:
    """MuJoCo's model and data of an environment."""
    inner = env.unwrapped
    if not hasattr(inner, "model") or not hasattr(inner, "data"):
        raise UsageError("the viewer only shows environments that are simulated by MuJoCo; film this one with mvl video.")
    return inner.model, inner.data


def tip_site(model: Any) -> int | None:
    """Index of the site between an arm's fingers; None if there is no arm."""
    found = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, name) for name in TIPS]
    return max(found) if max(found) >= 0 else None


def snapshot(model: Any, data: Any) -> Snapshot:
    """The current poses and colors of a simulation."""
    # As in MuJoCo: a geom has the color of its material only if its own color is this gray, the default.
    uncolored = (model.geom_matid >= 0) & (model.geom_rgba == np.array([0.5, 0.5, 0.5, 1])).all(axis=1)
    colors = np.array(model.geom_rgba)
    colors[uncolored] = model.mat_rgba[model.geom_matid[uncolored]]
    site = tip_site(model)
    return Snapshot(
        np.concatenate([data.xpos, data.xquat], axis=1, dtype=np.float32),
        np.round(255 * colors).astype(np.uint8),
        np.array(data.xpos[1] if site is None else data.site_xpos[site], np.float32),
    )


def play_recorded(
    simulator: Simulator, start: Start, choose: Choose, report: Callable[[int], None] = lambda step: None
) -> RecordedEpisode:
    """Play one episode and record it; `report` is called with the number of steps done."""
    if hasattr(simulator, "keeps_goal_state"):
        simulator.keeps_goal_state = True
    observation, goal = simulator.reset(start)
    model, data = physics(simulator.env)
    target = snapshot(*(getattr(simulator, "goal_state", None) or (model, data)))
    began, snapshots, observations = data.time, [snapshot(model, data)], [observation]
    while not simulator.done:
        observation = simulator.step(choose(observation, goal, len(snapshots) - 1))
        snapshots.append(snapshot(model, data))
        observations.append(observation)
        report(len(snapshots) - 1)
    poses, colors, path = (np.stack([getattr(one, name) for one in snapshots]) for name in ("poses", "colors", "tip"))
    seconds = (data.time - began) / (len(snapshots) - 1)
    success, rows = list(simulator.success), np.array(observations, np.float32)
    return RecordedEpisode(start.goal, success, rows, goal, target, poses, colors, path, seconds)
