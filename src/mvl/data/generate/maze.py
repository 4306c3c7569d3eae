"""Walks through mazes, made as OGBench's: a noisy walker that follows the maze's own shortest paths."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from mvl.data.generate.episodes import Size, columns_of
from mvl.data.names import TaskName

STITCH_CELLS = 4
"""A stitch episode goes this many cells far, and stays there."""
EXPLORE_TURN = 10
"""An explore episode takes a new direction every so many steps, whatever lies there."""
EXPLORE_NOISE = 1.0


Cell = tuple[int, int]
"""Row and column in the maze."""
Walk = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Observation and unit direction -> the action that leads there."""


def size(task: TaskName) -> Size:
    """Episodes and rows per episode of the published set."""
    if task.kind == "stitch":
        return Size(5000, 201, 500)
    if task.kind == "explore":
        return Size(10000, 501, 1000)
    return Size(500, 2001, 50) if task.variant == "giant" else Size(1000, 1001, 100)


class MazeMaker:
    """One environment and the paths through its maze; an episode is a pure function of its seed."""

    def __init__(self, task: TaskName, walk: Walk, noise: float) -> None:
        import ogbench

        self.task, self.walk = task, walk
        self.noise = EXPLORE_NOISE if task.kind == "explore" else noise
        self.rows = size(task).rows
        self.env: Any = ogbench.make_env_and_datasets(str(task), env_only=True, terminate_at_goal=False).unwrapped
        free = self.env.maze_map == 0
        self.cells: list[Cell] = [(int(i), int(j)) for i, j in np.argwhere(free)]
        self.corners = [cell for cell in self.cells if not _in_hallway(free, cell)]
        # The way on depends only on the two cells, and the environment searches the maze anew on every call.
        self.way = cache(self._way)

    def _way(self, cell: Cell, goal: Cell) -> tuple[np.ndarray, np.ndarray]:
        """Center of the next cell on the way, and the distance of every cell to the goal."""
        return self.env.get_oracle_subgoal(self.env.ij_to_xy(cell), self.env.ij_to_xy(goal))

    def episode(self, seed: int) -> dict[str, np.ndarray]:
        """Rows of one episode: observations, actions, terminals and the simulator's state."""
        np.random.seed(seed)  # the environment draws from NumPy's global generator
        start = self.cells[np.random.randint(len(self.cells))]
        self.env.reset(seed=seed, options={"task_info": {"init_ij": start, "goal_ij": self._goal(start)}})
        rows = [self._step(time) for time in range(self.rows)]
        return columns_of(rows)

    def _goal(self, start: Cell) -> Cell:
        if self.task.kind != "stitch":
            return self.corners[np.random.randint(len(self.corners))]
        _, distance = self.way(start, start)  # distances from a cell are distances to it
        far = [cell for cell in self.cells if distance[cell] == STITCH_CELLS]
        return far[np.random.randint(len(far))]

    def _towards(self, time: int) -> np.ndarray:
        """Where to go from here: along the way to the goal, or anywhere for a while."""
        if self.task.kind != "explore":
            here, env = self.env.get_xy(), self.env
            return self.way(env.xy_to_ij(here), env.xy_to_ij(env.cur_goal_xy))[0] - here
        if time % EXPLORE_TURN == 0:
            self.heading = np.random.normal(size=2)
        return self.heading

    def _step(self, time: int) -> dict[str, np.ndarray]:
        here, env = self.env.get_xy(), self.env
        towards = self._towards(time)
        direction = towards / (np.linalg.norm(towards) + 1e-6)
        observation = env.get_ob()
        wanted = self.walk(observation, direction)
        action = np.clip(wanted + np.random.normal(0, self.noise, wanted.shape), -1, 1).astype(np.float32)
        _, _, _, _, info = env.step(action)
        if info["success"] and self.task.kind == "navigate":
            env.set_goal(goal_xy=env.add_noise(env.ij_to_xy(self._goal(env.xy_to_ij(here)))))
        return {"observations": observation, "actions": action, "qpos": info["prev_qpos"], "qvel": info["prev_qvel"]}


def _in_hallway(free: np.ndarray, cell: Cell) -> bool:
    """Free on both sides along one axis and walled on both sides along the other."""
    i, j = cell
    vertical, horizontal = (free[i - 1, j], free[i + 1, j]), (free[i, j - 1], free[i, j + 1])
    return (all(vertical) and not any(horizontal)) or (all(horizontal) and not any(vertical))
