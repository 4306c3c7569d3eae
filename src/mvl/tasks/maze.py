"""What the maze families share: the map, and episodes of a noisy walker that follows the maze's shortest paths."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mvl.data.episodes import Size, columns_of
from mvl.tasks.ogbench import make_env, task_name
from mvl.tasks.simulator import quiet_simulators

MAZES = ("medium", "large", "giant", "teleport")
CELLS = 12
"""Grid points per maze cell and axis."""
STITCH_CELLS = 4
"""Length of a stitch episode in cells; the walker stays at its end."""
EXPLORE_TURN = 10
"""Steps between changes of direction in an explore episode."""
EXPLORE_NOISE = 1.0


class Maze(NamedTuple):
    """The map of a maze."""

    walls: np.ndarray  # (rows, columns) 1 where a wall stands
    unit: float
    """Side of a cell."""
    origin: tuple[float, float]
    """Center of cell (0, 0)."""
    radius: float = 0.5
    """Distance from a goal within which it counts as reached."""

    @property
    def extent(self) -> tuple[float, float, float, float]:
        left, bottom = self.origin[0] - self.unit / 2, self.origin[1] - self.unit / 2
        return left, left + self.unit * self.walls.shape[1], bottom, bottom + self.unit * self.walls.shape[0]

    @property
    def spacing(self) -> float:
        """Distance between grid points."""
        return self.unit / CELLS

    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates along both axes, and where a grid point is free."""
        left, _, bottom, _ = self.extent
        rows, columns = self.walls.shape
        x = left + (np.arange(columns * CELLS) + 0.5) * self.spacing
        y = bottom + (np.arange(rows * CELLS) + 0.5) * self.spacing
        return x, y, np.kron(self.walls, np.ones((CELLS, CELLS))) == 0

    def away_from(self, place: np.ndarray) -> np.ndarray:
        """Straight-line distance of every grid point to a place."""
        x, y, _ = self.grid()
        return np.hypot(x[None, :] - place[0], y[:, None] - place[1])


def load_maze(name: str) -> Maze:
    """The map of a task of OGBench."""
    with quiet_simulators():
        env = make_env(name).unwrapped
    x, y = env.ij_to_xy((0, 0))
    return Maze(np.asarray(env.maze_map), float(env._maze_unit), (float(x), float(y)), float(env._goal_tol))


def first_two(qpos: np.ndarray) -> np.ndarray:
    """Oracle goal of a walker: its position, (rows, 2)."""
    return qpos[:, :2].astype(np.float32)


def maze_size(variant: str, kind: str) -> Size:
    """Size of the published dataset."""
    if kind == "stitch":
        return Size(5000, 201, 500)
    if kind == "explore":
        return Size(10000, 501, 1000)
    return Size(500, 2001, 50) if variant == "giant" else Size(1000, 1001, 100)


Cell = tuple[int, int]
"""Row and column in the maze."""
Walk = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Observation and unit direction -> the action that leads there."""


class MazeGenerator:
    """Episodes in one maze; an episode is a pure function of its seed."""

    def __init__(self, family: str, variant: str, kind: str, walk: Walk, noise: float) -> None:
        self.kind, self.walk = kind, walk
        self.noise = EXPLORE_NOISE if kind == "explore" else noise
        self.rows = maze_size(variant, kind).rows
        self.env: Any = make_env(task_name(family, variant, kind), terminate_at_goal=False).unwrapped
        free = self.env.maze_map == 0
        self.cells: list[Cell] = [(int(i), int(j)) for i, j in np.argwhere(free)]
        self.corners = [cell for cell in self.cells if not _in_hallway(free, cell)]
        # The environment searches the maze anew on every call, but the answer depends only on the two cells.
        self.way = cache(self._way)

    def _way(self, cell: Cell, goal: Cell) -> tuple[np.ndarray, np.ndarray]:
        """Center of the next cell on the shortest path, and the distance of every cell to the goal."""
        return self.env.get_oracle_subgoal(self.env.ij_to_xy(cell), self.env.ij_to_xy(goal))

    def episode(self, seed: int) -> dict[str, np.ndarray]:
        """Rows of one episode: observations, actions, terminals and the simulator's state."""
        np.random.seed(seed)  # the environment draws from NumPy's global generator
        start = self.cells[np.random.randint(len(self.cells))]
        self.env.reset(seed=seed, options={"task_info": {"init_ij": start, "goal_ij": self._goal(start)}})
        rows = [self._step(time) for time in range(self.rows)]
        return columns_of(rows)

    def _goal(self, start: Cell) -> Cell:
        if self.kind != "stitch":
            return self.corners[np.random.randint(len(self.corners))]
        _, distance = self.way(start, start)  # distances from a cell are distances to it
        far = [cell for cell in self.cells if distance[cell] == STITCH_CELLS]
        return far[np.random.randint(len(far))]

    def _towards(self, time: int) -> np.ndarray:
        """Direction to go in: along the shortest path, or in explore episodes at random."""
        if self.kind != "explore":
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
        if info["success"] and self.kind == "navigate":
            env.set_goal(goal_xy=env.add_noise(env.ij_to_xy(self._goal(env.xy_to_ij(here)))))
        return {"observations": observation, "actions": action, "qpos": info["prev_qpos"], "qvel": info["prev_qvel"]}


def _in_hallway(free: np.ndarray, cell: Cell) -> bool:
    """Free on both sides along one axis and walled on both sides along the other."""
    i, j = cell
    vertical, horizontal = (free[i - 1, j], free[i + 1, j]), (free[i, j - 1], free[i, j + 1])
    return (all(vertical) and not any(horizontal)) or (all(horizontal) and not any(vertical))
