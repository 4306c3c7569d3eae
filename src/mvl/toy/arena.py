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
"""How far one step of a transition leads."""
ARENA = Maze(np.pad(np.pad(np.ones((3, 3), int), 1), 1, constant_values=1), 0.4, (-1.2, -1.2), STEP)


def true_distance() -> np.ndarray:
    """Exact, on the arena's grid: straight where nothing is in between, else around the obstacle's corners, left or right."""
    x, y, free = ARENA.grid()
    points = np.stack(np.meshgrid(x, y), axis=-1)  # (rows, columns, 2)
    ways = [np.where(_hidden(points, GOAL), np.inf, np.linalg.norm(points - GOAL, axis=-1))]
    for side in (-HALF, HALF):
        near, far = np.array([side, -HALF]), np.array([side, HALF])
        for corner, before in ((near, np.linalg.norm(near - GOAL)), (far, np.linalg.norm(near - GOAL) + 2 * HALF)):
            onward = np.linalg.norm(points - corner, axis=-1)
            ways.append(np.where(_hidden(points, corner), np.inf, before + onward))
    return np.where(free, np.min(ways, axis=0), np.inf)


def _hidden(points: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Whether the obstacle's inside meets the line from a place: the stretches within it along x and along y overlap."""
    ahead = points - place
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.stack([(side - place) / ahead for side in (-HALF, HALF)])  # (2, ..., 2)
    enter, leave = np.nanmin(times, axis=0).max(axis=-1), np.nanmax(times, axis=0).min(axis=-1)
    beside = ((ahead == 0) & (np.abs(place) >= HALF)).any(axis=-1)  # runs along the obstacle and never enters
    return (np.maximum(enter, 0) + 1e-9 < np.minimum(leave, 1)) & ~beside


def marched_distance() -> np.ndarray:
    """The Eikonal equation |dD| = 1 on the arena's grid, solved by fast marching from a small circle around the goal."""
    try:
        import skfmm
    except ImportError:
        raise MvlError("fast marching needs scikit-fmm; install it with: pip install 'mollified-value-learning[toy]'") from None
    free = ARENA.grid()[2]
    straight, circle = ARENA.straight_distance(GOAL), 2 * ARENA.spacing
    marched = circle + skfmm.distance(np.ma.MaskedArray(straight - circle, ~free), dx=ARENA.spacing)
    return np.where(free, np.where(straight < circle, straight, marched.filled(np.inf)), np.inf)


def draw_free(key: Key, count: int) -> Array:
    """Uniform over the arena without its obstacle: of three times as many places, the first that are free (two in three are)."""
    places = jax.random.uniform(key, (3 * count, 2), minval=-1, maxval=1)
    return places[jnp.argsort(blocked(places), stable=True)[:count]]


def blocked(places: Array) -> Array:
    size = jnp.abs(places).max(axis=-1)
    return (size < HALF) | (size > 1)


def draw_steps(key: Key, count: int) -> tuple[Array, Array]:
    """Transitions: a step in a random direction from anywhere free; one that would be blocked stays where it was."""
    place_key, angle_key = jax.random.split(key)
    here = draw_free(place_key, count)
    angle = jax.random.uniform(angle_key, (count,), maxval=2 * jnp.pi)
    there = here + STEP * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    return here, jnp.where(blocked(there)[:, None], here, there)
