"""A square arena with one square obstacle and a goal at the bottom, and its distances: exact, and by fast marching."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mvl.errors import MvlError
from mvl.tasks.maze import Maze
from mvl.types import Key

HALF = 0.6
"""The obstacle fills [-HALF, HALF] in both dimensions, the arena [-1, 1]."""
GOAL = np.array([0.0, -0.8], np.float32)
STEP = 0.1
"""Length of one step of a transition."""
ARENA = Maze(np.pad(np.pad(np.ones((3, 3), int), 1), 1, constant_values=1), 0.4, (-1.2, -1.2), STEP)


def true_distance() -> np.ndarray:
    """Exact distance to the goal on the arena's grid: straight, or around the obstacle's corners if it is in between."""
    x, y, free = ARENA.grid()
    points = np.stack(np.meshgrid(x, y), axis=-1)  # (rows, columns, 2)
    lengths = [np.where(_hidden(points, GOAL), np.inf, np.linalg.norm(points - GOAL, axis=-1))]
    for side in (-HALF, HALF):
        near, far = np.array([side, -HALF]), np.array([side, HALF])
        for corner, before in ((near, np.linalg.norm(near - GOAL)), (far, np.linalg.norm(near - GOAL) + 2 * HALF)):
            rest = np.linalg.norm(points - corner, axis=-1)
            lengths.append(np.where(_hidden(points, corner), np.inf, before + rest))
    return np.where(free, np.min(lengths, axis=0), np.inf)


def _hidden(points: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Whether the line from `origin` (2,) to each point (..., 2) crosses the obstacle: its parts within it in x and y overlap."""
    line = points - origin
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.stack([(side - origin) / line for side in (-HALF, HALF)])  # (2, ..., 2)
    enter, leave = np.nanmin(times, axis=0).max(axis=-1), np.nanmax(times, axis=0).min(axis=-1)
    outside = ((line == 0) & (np.abs(origin) >= HALF)).any(axis=-1)  # parallel to a side, and not between the two
    hidden: np.ndarray = (np.maximum(enter, 0) + 1e-9 < np.minimum(leave, 1)) & ~outside
    return hidden


def marched_distance() -> np.ndarray:
    """Solution D of the Eikonal equation |dD| = 1 on the arena's grid, by fast marching from a small circle around the goal."""
    try:
        import skfmm
    except ImportError:
        raise MvlError("fast marching needs scikit-fmm; install it with: pip install 'mollified-value-learning[toy]'") from None
    free = ARENA.grid()[2]
    straight, circle = ARENA.straight_distance(GOAL), 2 * ARENA.spacing
    marched = circle + skfmm.distance(np.ma.MaskedArray(straight - circle, ~free), dx=ARENA.spacing)
    return np.where(free, np.where(straight < circle, straight, marched.filled(np.inf)), np.inf)


def draw_free(key: Key, count: int) -> Array:
    """Random free positions (count, 2), uniform over the arena without its obstacle."""
    positions = jax.random.uniform(key, (3 * count, 2), minval=-1, maxval=1)  # two in three are free, so enough of them are
    return positions[jnp.argsort(blocked(positions), stable=True)[:count]]


def blocked(positions: Array) -> Array:
    """Whether positions (..., 2) are in the obstacle or outside of the arena."""
    distance = jnp.abs(positions).max(axis=-1)
    return (distance < HALF) | (distance > 1)


def draw_steps(key: Key, count: int) -> tuple[Array, Array]:
    """Random transitions, (count, 2) each: a step in a random direction from a free position; no move if that is blocked."""
    start_key, angle_key = jax.random.split(key)
    here = draw_free(start_key, count)
    angle = jax.random.uniform(angle_key, (count,), maxval=2 * jnp.pi)
    there = here + STEP * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    return here, jnp.where(blocked(there)[:, None], here, there)
