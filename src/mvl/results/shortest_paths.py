"""True distances in a maze: lengths of shortest paths on its grid, and gradients that do not cross walls."""

import math

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from mvl.tasks.maze import POINTS_PER_CELL, Maze

REACH = 5
"""Edges of the distance graph lead up to this many grid points away along an axis."""
NUDGES = 0.1 * np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)])
"""Of a grid square: a line touches whatever comes so close to it, above all the squares around a corner it goes through."""


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
    lengths = np.concatenate([lengths, maze.straight_distance(goal).ravel()[near]])
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
    near = np.argwhere(free & (maze.straight_distance(goal) <= maze.unit))  # (points, 2) rows and columns
    start = np.array([goal[1] - y[0], goal[0] - x[0]]) / maze.spacing
    along = np.linspace(0, 1, 8 * POINTS_PER_CELL)[:, None, None]
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
