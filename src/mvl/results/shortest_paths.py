"""Shortest path lengths on a maze's grid, and gradients that do not cross walls."""

import math

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from mvl.tasks.maze import POINTS_PER_CELL, Maze

REACH = 5
"""Edges of the distance graph span at most this many grid points along an axis."""
NUDGES = 0.1 * np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)])
"""Offsets in grid squares: a line touches every square within them, so that it touches all four squares at a corner."""


def geodesic(maze: Maze, goal: np.ndarray) -> np.ndarray:
    """Length of the shortest path of a point to the goal from every grid point, (rows, columns); infinite without a path.

    Dijkstra over edges in all 80 directions that span at most REACH grid points along an axis and cross no wall. A path is
    too long by at most half a percent in the open, and by up to a grid spacing at each corner around which it turns.
    This is as accurate as fast marching on this grid, and needs no package beyond SciPy.
    """
    _, _, free = maze.grid()
    index = np.arange(free.size).reshape(free.shape)
    edges = [_edges(free, index, offset) for offset in _offsets()]
    starts, ends = (np.concatenate([edge[side] for edge in edges]) for side in (0, 1))
    lengths = maze.spacing * np.concatenate([np.full(len(edge[0]), edge[2]) for edge in edges])
    near = _in_sight(maze, goal)
    source = np.full(len(near), free.size)
    starts, ends = np.concatenate([starts, source]), np.concatenate([ends, near])
    lengths = np.concatenate([lengths, maze.straight_distance(goal).ravel()[near]])
    graph = coo_array((lengths, (starts, ends)), shape=(free.size + 1, free.size + 1)).tocsr()
    return np.asarray(dijkstra(graph, directed=False, indices=free.size)[:-1].reshape(free.shape))


def _offsets() -> list[tuple[int, int]]:
    """Directions as (down, right) in lowest terms, one of each opposite pair."""
    reach = range(-REACH, REACH + 1)
    return [(down, right) for down in reach for right in reach if (down, right) > (0, 0) and math.gcd(down, right) == 1]


def _edges(free: np.ndarray, index: np.ndarray, offset: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Starts, ends and length of the edges along one offset, between points whose straight line crosses only free squares."""
    rows, columns = free.shape
    down, right = offset
    left = max(0, -right)
    here = np.ix_(range(rows - down), range(left, columns - max(0, right)))
    clear = np.ones(free[here].shape, bool)
    for row, column in _crossed(offset):
        clear &= free[row : rows - down + row, left + column : columns - max(0, right) + column]
    ends = index[here] + down * columns + right
    return index[here][clear], ends[clear], math.hypot(*offset)


def _crossed(offset: tuple[int, int]) -> set[tuple[int, int]]:
    """Grid squares touched by the line between the centers of two squares; at a corner, all four."""
    steps = 4 * REACH * REACH
    line = np.outer(np.arange(steps + 1) / steps, offset)
    return {(int(row), int(column)) for nudge in NUDGES for row, column in np.round(line + nudge)}


def _in_sight(maze: Maze, goal: np.ndarray) -> np.ndarray:
    """Indices of the grid points within a cell's size of the goal whose line to it crosses only free squares."""
    x, y, free = maze.grid()
    near = np.argwhere(free & (maze.straight_distance(goal) <= maze.unit))  # (points, 2) rows and columns
    start = np.array([goal[1] - y[0], goal[0] - x[0]]) / maze.spacing
    along = np.linspace(0, 1, 8 * POINTS_PER_CELL)[:, None, None]
    line = start + along * (near - start)  # (places, points, 2)
    squares = [np.round(line + nudge).astype(int) for nudge in NUDGES]
    clear = np.all([free[s[..., 0], s[..., 1]].all(axis=0) for s in squares], axis=0)
    return np.asarray(np.ravel_multi_index(tuple(near[clear].T), free.shape))


def gradient(values: np.ndarray, free: np.ndarray) -> np.ndarray:
    """d/dx and d/dy per grid spacing, (2, rows, columns): central differences, one-sided beside walls, never across them."""
    known = np.where(free, values, np.nan)
    return np.stack([_slope(known), _slope(known.T).T])


def _slope(values: np.ndarray) -> np.ndarray:
    """Slope along the last axis: the mean of the differences to the left and to the right, or the one that is not NaN."""
    step = np.diff(values, axis=1)
    edge = np.full((len(values), 1), np.nan)
    sides = np.stack([np.concatenate([edge, step], axis=1), np.concatenate([step, edge], axis=1)])
    known = np.isfinite(sides)
    return np.asarray(np.where(known, sides, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))
