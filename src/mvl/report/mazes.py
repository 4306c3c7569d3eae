"""Mazes as plain numbers: where walls stand, what the five tasks ask, and how far it truly is to a goal."""

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from mvl.data.names import TaskName
from mvl.evaluation.environments import Slot, Start, quietly

MAZES = ("pointmaze", "antmaze", "humanoidmaze", "antsoccer")
CELLS = 12
"""Grid points per maze cell and axis."""
REACH = 5
"""Edges of the distance graph lead up to this many grid points away along an axis."""
NUDGES = 0.1 * np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)])
"""Of a grid square: a line touches whatever comes so close to it, above all the squares around a corner it goes through."""


class Maze(NamedTuple):
    """Where a maze's cells lie."""

    walls: np.ndarray  # (rows, columns) 1 where a wall stands
    unit: float
    origin: tuple[float, float]
    """Center of cell (0, 0)."""
    radius: float = 0.5
    """Nearer than this to a goal is there, as the environment judges success."""

    @property
    def extent(self) -> tuple[float, float, float, float]:
        left, bottom = self.origin[0] - self.unit / 2, self.origin[1] - self.unit / 2
        return left, left + self.unit * self.walls.shape[1], bottom, bottom + self.unit * self.walls.shape[0]

    @property
    def spacing(self) -> float:
        """Between grid points."""
        return self.unit / CELLS

    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates along both axes, and where a point is free."""
        left, _, bottom, _ = self.extent
        rows, columns = self.walls.shape
        x = left + (np.arange(columns * CELLS) + 0.5) * self.spacing
        y = bottom + (np.arange(rows * CELLS) + 0.5) * self.spacing
        return x, y, np.kron(self.walls, np.ones((CELLS, CELLS))) == 0

    def away_from(self, place: np.ndarray) -> np.ndarray:
        """Straight-line distance of every grid point to a place."""
        x, y, _ = self.grid()
        return np.hypot(x[None, :] - place[0], y[:, None] - place[1])


def maze_of(task: str) -> Maze | None:
    """The maze of a task, or nothing when it has none."""
    if TaskName.parse(task).family not in MAZES:
        return None
    with quietly():
        env = Slot(task).env.unwrapped
    x, y = env.ij_to_xy((0, 0))
    return Maze(np.asarray(env.maze_map), float(env._maze_unit), (float(x), float(y)), float(env._goal_tol))


def asked(task: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """First observations (5, d) and goals (5, k) of the five tasks; the seed is that of the noise on where they lie."""
    with quietly():
        slot = Slot(task)
        pairs = [slot.reset(Start(number + 1, seed)) for number in range(slot.tasks)]
    return np.array([start for start, _ in pairs], np.float32), np.array([goal for _, goal in pairs], np.float32)


def geodesic(maze: Maze, goal: np.ndarray) -> np.ndarray:
    """Length of the shortest way to a goal from every grid point, for a point without size; infinite where there is none.

    Dijkstra over edges in all 80 directions that lead at most REACH grid points along an axis and cross no wall: a way is
    too long by at most half a percent in the open, and by up to a grid spacing at each corner it turns.
    That is as good as fast marching on this grid, and needs no package beyond SciPy.
    """
    _, _, free = maze.grid()
    index = np.arange(free.size).reshape(free.shape)
    edges = [_edges(free, index, offset) for offset in _offsets()]
    starts, ends = (np.concatenate([edge[side] for edge in edges]) for side in (0, 1))
    lengths = maze.spacing * np.concatenate([np.full(len(edge[0]), edge[2]) for edge in edges])
    near = _in_sight(maze, goal)
    source = np.full(len(near), free.size)
    starts, ends = np.concatenate([starts, source]), np.concatenate([ends, near])
    lengths = np.concatenate([lengths, maze.away_from(goal).ravel()[near]])
    graph = coo_array((lengths, (starts, ends)), shape=(free.size + 1, free.size + 1)).tocsr()
    return dijkstra(graph, directed=False, indices=free.size)[:-1].reshape(free.shape)


def _offsets() -> list[tuple[int, int]]:
    """One of each pair of opposite directions, in lowest terms."""
    reach = range(-REACH, REACH + 1)
    return [(down, right) for down in reach for right in reach if (down, right) > (0, 0) and math.gcd(down, right) == 1]


def _edges(free: np.ndarray, index: np.ndarray, offset: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Edges along one offset between points with nothing but free squares on the straight line between them."""
    rows, columns = free.shape
    down, right = offset
    left = max(0, -right)
    here = np.ix_(range(rows - down), range(left, columns - max(0, right)))
    clear = np.ones(free[here].shape, bool)
    for row, column in _crossed(offset):
        clear &= free[row : rows - down + row, left + column : columns - max(0, right) + column]
    there = index[here] + down * columns + right
    return index[here][clear], there[clear], math.hypot(*offset)


def _crossed(offset: tuple[int, int]) -> set[tuple[int, int]]:
    """Grid squares that the line from one square's center to another's touches; at a corner it touches all four."""
    steps = 4 * REACH * REACH
    line = np.outer(np.arange(steps + 1) / steps, offset)
    return {(int(row), int(column)) for nudge in NUDGES for row, column in np.round(line + nudge)}


def _in_sight(maze: Maze, goal: np.ndarray) -> np.ndarray:
    """Numbers of the grid points at most a cell's size from a place, with nothing but free squares on the line to it."""
    x, y, free = maze.grid()
    near = np.argwhere(free & (maze.away_from(goal) <= maze.unit))  # (points, 2) rows and columns
    start = np.array([goal[1] - y[0], goal[0] - x[0]]) / maze.spacing
    along = np.linspace(0, 1, 8 * CELLS)[:, None, None]
    line = start + along * (near - start)  # (places, points, 2)
    squares = [np.round(line + nudge).astype(int) for nudge in NUDGES]
    clear = np.all([free[s[..., 0], s[..., 1]].all(axis=0) for s in squares], axis=0)
    return np.ravel_multi_index(tuple(near[clear].T), free.shape)


def gradient(field: np.ndarray, free: np.ndarray) -> np.ndarray:
    """d/dx and d/dy per grid spacing, (2, rows, columns): central differences, one-sided beside walls, never across them."""
    held = np.where(free, field, np.nan)
    return np.stack([_slope(held), _slope(held.T).T])


def _slope(field: np.ndarray) -> np.ndarray:
    """Along the last axis: the mean of the differences to the left and to the right, of those that exist."""
    step = np.diff(field, axis=1)
    edge = np.full((len(field), 1), np.nan)
    sides = np.stack([np.concatenate([edge, step], axis=1), np.concatenate([step, edge], axis=1)])
    known = np.isfinite(sides)
    return np.where(known, sides, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
