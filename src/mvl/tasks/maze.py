"""What the maze families share: the map, and a generator of episodes along the maze's shortest paths, with noise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from mvl.data.episodes import Size, columns_of
from mvl.tasks.ogbench import Published, make_env, ogbench_task, task_name
from mvl.tasks.simulator import quiet_simulators
from mvl.tasks.task import MAZE_VIEW, Task

MAZES = ("medium", "large", "giant", "teleport")
POINTS_PER_CELL = 12
"""Grid points per maze cell, along each axis."""
STITCH_CELLS = 4
"""Length of a stitch episode in cells; the walker stays at its end."""
EXPLORE_TURN = 10
"""Steps between changes of direction in an explore episode."""
EXPLORE_NOISE = 1.0
"""Standard deviation of the noise on actions in an explore episode."""


class Maze(NamedTuple):
    """The map of a maze."""

    walls: np.ndarray  # (rows, columns) 1 where a wall stands
    unit: float
    """Side length of a cell."""
    origin: tuple[float, float]
    """Center of cell (0, 0)."""
    radius: float = 0.5
    """Distance from a goal within which it counts as reached."""

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of the maze."""
        left, bottom = self.origin[0] - self.unit / 2, self.origin[1] - self.unit / 2
        return left, left + self.unit * self.walls.shape[1], bottom, bottom + self.unit * self.walls.shape[0]

    @property
    def spacing(self) -> float:
        """Distance between grid points."""
        return self.unit / POINTS_PER_CELL

    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates x (columns,) and y (rows,) of the grid points, and whether each point is free, (rows, columns)."""
        left, _, bottom, _ = self.extent
        rows, columns = self.walls.shape
        x = left + (np.arange(columns * POINTS_PER_CELL) + 0.5) * self.spacing
        y = bottom + (np.arange(rows * POINTS_PER_CELL) + 0.5) * self.spacing
        return x, y, np.kron(self.walls, np.ones((POINTS_PER_CELL, POINTS_PER_CELL))) == 0

    def straight_distance(self, point: np.ndarray) -> np.ndarray:
        """Straight-line distance of every grid point to a point, (rows, columns)."""
        x, y, _ = self.grid()
        distance: np.ndarray = np.hypot(x[None, :] - point[0], y[:, None] - point[1])
        return distance


def load_maze(name: str) -> Maze:
    """The map of a task of OGBench."""
    with quiet_simulators():
        env = make_env(name).unwrapped
    x, y = env.ij_to_xy((0, 0))
    return Maze(np.asarray(env.maze_map), float(env._maze_unit), (float(x), float(y)), float(env._goal_tol))


def maze_task(family: str, variant: str, kind: str, oracle: bool, published: Published, **attributes: Any) -> Task:
    """A task of OGBench in a maze; `attributes` are further ones of `Task`, or replace those set here."""
    shared: dict[str, Any] = {
        "goal": xy_position,
        "goal_columns": ("qpos",),
        "settings": published.settings,
        "maze": partial(load_maze, task_name(family, variant, kind)),
        "metric": variant != "teleport",
        "view": MAZE_VIEW,
    }
    return ogbench_task(family, variant, kind, oracle, **{**shared, **attributes})


def xy_position(qpos: np.ndarray) -> np.ndarray:
    """Oracle goal of an agent in a maze: its position, (rows, 2)."""
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
"""Observation and unit direction -> the action that moves the agent in that direction."""


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
        # The environment searches the whole maze on every call, but the result depends only on the two cells.
        self.shortest_path = cache(self._shortest_path)

    def _shortest_path(self, cell: Cell, goal: Cell) -> tuple[np.ndarray, np.ndarray]:
        """Center of the next cell on the shortest path, and the distance of every cell to the goal."""
        center, distances = self.env.get_oracle_subgoal(self.env.ij_to_xy(cell), self.env.ij_to_xy(goal))
        return center, distances

    def episode(self, seed: int) -> dict[str, np.ndarray]:
        """Rows of one episode: observations, actions, terminals and the simulator's state."""
        np.random.seed(seed)  # the environment draws from NumPy's global generator
        start = self.cells[np.random.randint(len(self.cells))]
        self.env.reset(seed=seed, options={"task_info": {"init_ij": start, "goal_ij": self._goal(start)}})
        rows = [self._step(time) for time in range(self.rows)]
        return columns_of(rows)

    def _goal(self, start: Cell) -> Cell:
        """A random goal: a corner of the maze, or in stitch episodes a cell at a fixed distance."""
        if self.kind != "stitch":
            return self.corners[np.random.randint(len(self.corners))]
        _, distance = self.shortest_path(start, start)  # the distances of all cells to the start
        far = [cell for cell in self.cells if distance[cell] == STITCH_CELLS]
        return far[np.random.randint(len(far))]

    def _heading(self, time: int) -> np.ndarray:
        """Vector to walk along: to the next cell of the shortest path, or in explore episodes a random one."""
        if self.kind != "explore":
            position, env = self.env.get_xy(), self.env
            next_center, _ = self.shortest_path(env.xy_to_ij(position), env.xy_to_ij(env.cur_goal_xy))
            return np.asarray(next_center - position)
        if time % EXPLORE_TURN == 0:
            self.heading = np.random.normal(size=2)
        return self.heading

    def _step(self, time: int) -> dict[str, np.ndarray]:
        position, env = self.env.get_xy(), self.env
        heading = self._heading(time)
        direction = heading / (np.linalg.norm(heading) + 1e-6)
        observation = env.get_ob()
        mean = self.walk(observation, direction)
        action = np.clip(mean + np.random.normal(0, self.noise, mean.shape), -1, 1).astype(np.float32)
        _, _, _, _, info = env.step(action)
        if info["success"] and self.kind == "navigate":
            env.set_goal(goal_xy=env.add_noise(env.ij_to_xy(self._goal(env.xy_to_ij(position)))))
        return {"observations": observation, "actions": action, "qpos": info["prev_qpos"], "qvel": info["prev_qvel"]}


def _in_hallway(free: np.ndarray, cell: Cell) -> bool:
    """Whether both neighbors of a cell are free along one axis, and both are walls along the other."""
    i, j = cell
    vertical, horizontal = (free[i - 1, j], free[i + 1, j]), (free[i, j - 1], free[i, j + 1])
    return (all(vertical) and not any(horizontal)) or (all(horizontal) and not any(vertical))
