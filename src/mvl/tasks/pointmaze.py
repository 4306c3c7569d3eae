"""PointMaze (OGBench): a point whose action is its displacement."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from mvl.tasks.maze import MAZES, MazeGenerator, maze_size, maze_task
from mvl.tasks.ogbench import OgbenchSimulator, Published, alphas
from mvl.tasks.simulator import Start
from mvl.tasks.task import Task

ACTION_NOISE = 0.5
"""Standard deviation of the noise on generated actions, which have length one."""
STEP = 0.2
"""Distance that an action of 1 moves the point."""
MARGIN = 1e-3
"""A wall within this distance of the point's rim counts as touched."""


def tasks() -> list[Task]:
    return [_task(*choice) for choice in product(MAZES, ("navigate", "stitch"), (False, True))]


def _task(variant: str, kind: str, oracle: bool) -> Task:
    published = Published(
        kind, alphas(0.003, 0.03, 0.0003, 10.0), 0.7, size=64, beta=0.003, discount=0.995 if variant == "giant" else 0.99
    )
    fast = {"simulator": PointSimulator, "shared_simulators": _shared_simulators} if variant != "teleport" else {}
    return maze_task(
        "pointmaze", variant, kind, oracle, published,
        generator=partial(_generator, variant, kind), size=maze_size(variant, kind), episode_seconds=0.2, **fast,
    )  # fmt: skip


def _generator(variant: str, kind: str) -> MazeGenerator:
    walk = lambda observation, direction: direction
    return MazeGenerator("pointmaze", variant, kind, walk, ACTION_NOISE)


class PointSimulator(OgbenchSimulator):
    """PointMaze that calls MuJoCo only near walls; its episodes equal OGBench's bit for bit.

    OGBench displaces the point by the action, with zero velocity, and MuJoCo pushes it out of walls. Away from walls a step
    is a sum. Near a wall the point returns to the same few positions, so results of MuJoCo are cached for an episode.
    Simulators that share an environment keep their own position and contact force; a step depends on nothing else.
    """

    def __init__(self, task: Task, shared: OgbenchSimulator | None = None) -> None:
        import mujoco

        super().__init__(task) if shared is None else self._share(shared)
        self.maze: Any = self.env.unwrapped
        model, self.data = self.maze.model, self.maze.data
        self.owns_env = shared is None
        state = self.data.qpos, self.data.qacc_warmstart  # views of MuJoCo's arrays
        self.position, self.force = state if self.owns_env else (array.copy() for array in state)
        # With so few geoms, MuJoCo's search tree takes longer than testing all pairs, and finds the same contacts.
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
        self.simulate = partial(mujoco.mj_step, model, self.data, nstep=self.maze.frame_skip)
        self.update_bodies = partial(mujoco.mj_kinematics, model, self.data)
        self.seconds = self.maze.frame_skip * model.opt.timestep
        self.limit = self.env.spec.max_episode_steps
        self.walls: list[list[bool]] = (self.maze.maze_map == 1).tolist()
        self.unit = float(self.maze._maze_unit)
        self.corner = [float(middle) - self.unit / 2 for middle in self.maze.ij_to_xy((0, 0))]
        self.radius = float(model.geom("pointbody").size[0]) + MARGIN

    def _share(self, other: OgbenchSimulator) -> None:
        self.env, self.keeps_goal_state, self.goal_state = other.env, False, None

    def reset(self, start: Start) -> tuple[np.ndarray, np.ndarray]:
        self.results: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        first = super().reset(start)
        self.position[:], self.force[:] = self.data.qpos, self.data.qacc_warmstart
        self.goal_position, self.tolerance = np.array(self.maze.cur_goal_xy), self.maze._goal_tol
        return first

    def step(self, action: np.ndarray) -> np.ndarray:
        if self.done:
            return self.observation
        self.steps += 1
        target = self.position + STEP * action
        if self.is_free(float(target[0]), float(target[1])):
            self.move(target, 0.0)  # without contact there is no force to warm-start the next step from
        else:
            self.step_near_wall(target)
        self.observation = self.position.copy()
        difference = self.goal_position - self.observation
        success = math.sqrt(difference.dot(difference)) <= self.tolerance
        self.done, self.success = success or self.steps >= self.limit, [success]
        return self.observation

    def step_near_wall(self, target: np.ndarray) -> None:
        """A step by MuJoCo, or its cached result: it depends only on the target of the action and the last contact force."""
        key = target.tobytes() + self.force.tobytes()
        if key in self.results:
            return self.move(*self.results[key])
        self.data.qpos[:], self.data.qvel[:], self.data.qacc_warmstart[:] = target, 0.0, self.force
        self.simulate()
        self.position[:], self.force[:] = self.data.qpos, self.data.qacc_warmstart
        self.results[key] = self.position.copy(), self.force.copy()

    def move(self, position: np.ndarray, force: np.ndarray | float) -> None:
        """A step whose result is known without MuJoCo."""
        self.position[:], self.force[:] = position, force
        if self.owns_env:
            self.data.time += self.seconds
            self.update_bodies()

    def is_free(self, x: float, y: float) -> bool:
        """Whether a point at (x, y) touches no wall: its bounding square overlaps no cell that is a wall."""
        x, y, radius, unit = x - self.corner[0], y - self.corner[1], self.radius, self.unit
        left, right = int((x - radius) // unit), int((x + radius) // unit)
        low, high = int((y - radius) // unit), int((y + radius) // unit)
        if min(left, low) < 0 or right >= len(self.walls[0]) or high >= len(self.walls):
            return False
        lower, upper = self.walls[low], self.walls[high]
        return not (lower[left] or lower[right] or upper[left] or upper[right])


def _shared_simulators(task: Task) -> Callable[[], PointSimulator]:
    """Function that makes simulators with one MuJoCo model in common, which then stays in the processor's caches."""
    return partial(PointSimulator, task, OgbenchSimulator(task))
