"""PointMaze (OGBench): a point that moves as it is told."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from mvl.tasks.maze import MAZES, MazeGenerator, first_two, load_maze, maze_size
from mvl.tasks.ogbench import OgbenchSimulator, Published, alphas, ogbench_task
from mvl.tasks.simulator import Start
from mvl.tasks.task import MAZE_VIEW, Task

ACTION_NOISE = 0.5
"""Standard deviation of the noise on generated actions, which have length one."""
STEP = 0.2
"""Distance that an action of 1 moves the point."""
MARGIN = 1e-3
"""A wall at this distance from the point's rim counts as touched."""


def tasks() -> list[Task]:
    return [_task(*choice) for choice in product(MAZES, ("navigate", "stitch"), (False, True))]


def _task(variant: str, kind: str, oracle: bool) -> Task:
    published = Published(
        kind, alphas(0.003, 0.03, 0.0003, 10.0), 0.7, size=64, beta=0.003, discount=0.995 if variant == "giant" else 0.99
    )
    fast = {"simulator": PointSimulator, "shared_simulators": _sharing} if variant != "teleport" else {}
    return ogbench_task(
        "pointmaze", variant, kind, oracle,
        goal=first_two, goal_columns=("qpos",),
        generator=partial(_generator, variant, kind), size=maze_size(variant, kind),
        settings=published.settings,
        maze=partial(load_maze, f"pointmaze-{variant}-{kind}-v0"), metric=variant != "teleport", view=MAZE_VIEW,
        **fast,
    )  # fmt: skip


def _generator(variant: str, kind: str) -> MazeGenerator:
    walk = lambda observation, direction: direction
    return MazeGenerator("pointmaze", variant, kind, walk, ACTION_NOISE)


class PointSimulator(OgbenchSimulator):
    """PointMaze that calls MuJoCo only near walls; its episodes equal OGBench's to the last bit.

    OGBench puts the point where the action sends it, at rest, and MuJoCo pushes it out of walls. Away from walls nothing
    pushes, so a step is a sum. Beside a wall the point returns to the same few places, so results are kept per episode.
    Simulators that share an environment keep their own position and contact force, all that a step depends on.
    """

    def __init__(self, task: Task, shared: OgbenchSimulator | None = None) -> None:
        import mujoco

        super().__init__(task) if shared is None else self._share(shared)
        self.maze: Any = self.env.unwrapped
        model, self.data = self.maze.model, self.maze.data
        self.alone = shared is None
        state = self.data.qpos, self.data.qacc_warmstart  # views of MuJoCo's arrays
        self.place, self.force = state if self.alone else (array.copy() for array in state)
        # A tree over the few geoms takes longer than testing all pairs, and finds the same contacts.
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
        self.push_out = partial(mujoco.mj_step, model, self.data, nstep=self.maze.frame_skip)
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
        self.pushed: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        answer = super().reset(start)
        self.place[:], self.force[:] = self.data.qpos, self.data.qacc_warmstart
        self.target, self.tolerance = np.array(self.maze.cur_goal_xy), self.maze._goal_tol
        return answer

    def step(self, action: np.ndarray) -> np.ndarray:
        if self.done:
            return self.observation
        self.steps += 1
        sent = self.place + STEP * action
        if self.is_free(float(sent[0]), float(sent[1])):
            self.move(sent, 0.0)  # without contact there is no force to warm-start the next step from
        else:
            self.lean(sent)
        self.observation = self.place.copy()
        way = self.target - self.observation
        success = math.sqrt(way.dot(way)) <= self.tolerance
        self.done, self.success = success or self.steps >= self.limit, [success]
        return self.observation

    def lean(self, sent: np.ndarray) -> None:
        """A step beside walls, determined by the place the point was sent to and the last contact force."""
        cause = sent.tobytes() + self.force.tobytes()
        if cause in self.pushed:
            return self.move(*self.pushed[cause])
        self.data.qpos[:], self.data.qvel[:], self.data.qacc_warmstart[:] = sent, 0.0, self.force
        self.push_out()
        self.place[:], self.force[:] = self.data.qpos, self.data.qacc_warmstart
        self.pushed[cause] = self.place.copy(), self.force.copy()

    def move(self, place: np.ndarray, force: np.ndarray | float) -> None:
        """A step whose result is known without MuJoCo."""
        self.place[:], self.force[:] = place, force
        if self.alone:
            self.data.time += self.seconds
            self.update_bodies()

    def is_free(self, x: float, y: float) -> bool:
        """Whether a point there touches no wall: no cell that its bounding square overlaps is one."""
        x, y, radius, unit = x - self.corner[0], y - self.corner[1], self.radius, self.unit
        left, right = int((x - radius) // unit), int((x + radius) // unit)
        low, high = int((y - radius) // unit), int((y + radius) // unit)
        if min(left, low) < 0 or right >= len(self.walls[0]) or high >= len(self.walls):
            return False
        lower, upper = self.walls[low], self.walls[high]
        return not (lower[left] or lower[right] or upper[left] or upper[right])


def _sharing(task: Task) -> Any:
    """Makes simulators that share one MuJoCo model, which then stays in the processor's caches."""
    return partial(PointSimulator, task, OgbenchSimulator(task))
