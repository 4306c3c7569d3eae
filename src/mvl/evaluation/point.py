"""A point in a maze, without asking the simulator what is known anyway."""

import math
from functools import partial
from typing import Any

import numpy as np

from mvl.evaluation.environments import Slot, Start

REACH = 0.2
"""How far an action of 1 sends the point."""
MARGIN = 1e-3
"""A wall at this distance from the point's rim counts as touched."""


class Point(Slot):
    """The same episodes, to the last bit, in a twelfth of the time away from walls, in about half beside them.

    OGBench puts the point where the action sends it, at rest, and lets the simulator push it out of walls. Where it
    touches none nothing pushes it, so the simulator, nearly all of a step's time, is asked only beside walls; and
    a point that leans on one comes back to the same few places, so what they led to is kept for the episode.

    Points that nobody looks at may share one simulator: what it does depends on where a point was sent and on the forces
    found last alone, and one that all use stays in the processor's caches.
    """

    def __init__(self, dataset_name: str, shared: Slot | None = None) -> None:
        import mujoco

        if shared:
            self.env = shared.env
        else:
            super().__init__(dataset_name)
        self.maze: Any = self.env.unwrapped
        model, self.data = self.maze.model, self.maze.data
        self.alone = shared is None
        state = self.data.qpos, self.data.qacc_warmstart  # views of the simulator's own
        self.place, self.force = state if self.alone else (array.copy() for array in state)
        # Sorting out pairs that cannot touch by a tree takes longer than looking at all of these few, and finds the same.
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
        self.push_out = partial(mujoco.mj_step, model, self.data, nstep=self.maze.frame_skip)
        self.show = partial(mujoco.mj_kinematics, model, self.data)  # puts bodies where pictures look for them
        self.seconds = self.maze.frame_skip * model.opt.timestep
        self.limit = self.env.spec.max_episode_steps
        self.walls: list[list[bool]] = (self.maze.maze_map == 1).tolist()
        self.unit = float(self.maze._maze_unit)
        self.corner = [float(middle) - self.unit / 2 for middle in self.maze.ij_to_xy((0, 0))]
        self.radius = float(model.geom("pointbody").size[0]) + MARGIN

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
        sent = self.place + REACH * action
        if self.is_free(float(sent[0]), float(sent[1])):
            self.move(sent, 0.0)  # a step in which nothing pushes leaves no force to begin the next from
        else:
            self.lean(sent)
        self.observation = self.place.copy()
        way = self.target - self.observation
        success = math.sqrt(way.dot(way)) <= self.tolerance
        self.done, self.success = success or self.steps >= self.limit, [success]
        return self.observation

    def lean(self, sent: np.ndarray) -> None:
        """A step beside walls, which follows from where the point was sent and the forces found last."""
        cause = sent.tobytes() + self.force.tobytes()
        if cause in self.pushed:
            return self.move(*self.pushed[cause])
        self.data.qpos[:], self.data.qvel[:], self.data.qacc_warmstart[:] = sent, 0.0, self.force
        self.push_out()
        self.place[:], self.force[:] = self.data.qpos, self.data.qacc_warmstart
        self.pushed[cause] = self.place.copy(), self.force.copy()

    def move(self, place: np.ndarray, force: np.ndarray | float) -> None:
        """A step whose end is known, without the simulator."""
        self.place[:], self.force[:] = place, force
        if self.alone:
            self.data.time += self.seconds
            self.show()

    def is_free(self, x: float, y: float) -> bool:
        """Whether a point there touches no wall: none of the cells that the square around it reaches into is one."""
        x, y, radius, unit = x - self.corner[0], y - self.corner[1], self.radius, self.unit
        left, right = int((x - radius) // unit), int((x + radius) // unit)
        low, high = int((y - radius) // unit), int((y + radius) // unit)
        if min(left, low) < 0 or right >= len(self.walls[0]) or high >= len(self.walls):
            return False
        lower, upper = self.walls[low], self.walls[high]
        return not (lower[left] or lower[right] or upper[left] or upper[right])
