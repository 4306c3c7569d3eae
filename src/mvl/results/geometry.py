"""Measures of a value surface over a maze: does it fall with the true distance, lead around walls, and stay smooth?"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.ndimage import minimum_filter, uniform_filter
from scipy.stats import pearsonr, spearmanr

from mvl.learn.learner import Learner, Parameters
from mvl.regularizers.mollified import Mollified
from mvl.results.shortest_paths import geodesic, gradient
from mvl.runs.restore import restore
from mvl.tasks.maze import Maze
from mvl.tasks.simulator import first_states
from mvl.types import Field
from mvl.units import known_scale

WINDOW = 2
"""Grid points on each side of a point in its local mean."""
STATES = 1000
"""States at which the mollified bounds are checked, at most about this many."""
NEIGHBORS = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if (row, column) != (0, 0)]


class Geometry(NamedTuple):
    """Measures of V(., goal) over the free states of a maze, averaged over goals; d is the length of the shortest path."""

    rank_correlation: float
    """Spearman's correlation of V with -d: 1 if every nearer state has a higher value, whatever the scale or discount."""
    correlation: float
    """Pearson's correlation of V with -d: 1 if V falls by the same amount for every unit of distance."""
    ascent: float
    """Share of states outside the goal's radius from which steepest ascent over grid neighbors ends at the goal. Steps stay
    in free space, so the walk has to lead around walls, and it stops at any other local maximum."""
    downhill: float
    """Share of states at which the gradients of V and of -d have a positive scalar product."""
    jitter: float
    """Root mean square (rms) of V minus its mean over 5 x 5 grid points, divided by the typical change of V over two grid
    points (rms gradient times their distance): 0 for a plane, 0.06 for the distance in a maze, 0.49 for white noise."""
    violated: float
    """Share of bounds V(s') - V(s) <= c |s' - s| that do not hold, over neighbors s' sampled as the mollifier does."""

    def to_json(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in self._asdict().items()}


def geometry(run: Path | str, bound: Mollified | None = None) -> Geometry | None:
    """The mean over a run's goals and seeds; None if the run has no value or its task no distance (see `Task.metric`)."""
    found = geometry_of_seeds(run, bound)
    return mean(found) if found else None


def geometry_of_seeds(run: Path | str, bound: Mollified | None = None) -> list[Geometry]:
    """The mean over the goals for each seed; empty if nothing can be measured.

    `bound` defines the neighbors and the cost of distance for `violated`; by default it is the run's own mollifier, or the
    paper's for a run without one. Compare runs in `violated` only with the same bound.
    """
    description, learner, state = restore(run)
    task = description.task
    if not task.maze or not task.metric or not learner.recipe.has_surface:
        return []
    maze = task.maze()
    bound = bound or own_bound(learner)
    pairs = list(zip(*first_states(task), strict=True))
    distances = [geodesic(maze, goal) for _, goal in pairs]
    seeds = [jax.tree.map(lambda leaf, i=i: leaf[i], state.params) for i in range(len(description.experiment.seeds))]
    return [
        mean([_of_goal(learner, params, maze, *pair, d, bound) for pair, d in zip(pairs, distances, strict=True)])
        for params in seeds
    ]


def own_bound(learner: Learner) -> Mollified:
    """A run's own mollifier for single observations in raw units, or the paper's for a run without one."""
    own, size = learner.recipe.regularizer, learner.shapes.observation
    if not isinstance(own, Mollified):
        return Mollified()
    single = size // learner.recipe.learning.history
    if learner.normalization is None and single == size:
        return own
    std = np.asarray(learner.normalization.observations.std) if learner.normalization else 1.0
    scale = np.broadcast_to(np.asarray(known_scale(own.scale, size), np.float64), size)[-single:]
    return replace(own, scale=tuple((scale * std).tolist()))


def mean(found: list[Geometry]) -> Geometry:
    return Geometry(*(float(value) for value in np.mean(found, axis=0)))


def _of_goal(
    learner: Learner, params: Parameters, maze: Maze, like: np.ndarray, goal: np.ndarray, distances: np.ndarray, bound: Mollified
) -> Geometry:
    values = values_on_grid(learner, params, maze, like, goal)
    places = np.argwhere(np.isfinite(distances))
    places = places[:: max(1, len(places) // STATES)]
    x, y, _ = maze.grid()
    states = np.tile(like, (len(places), 1))
    states[:, 0], states[:, 1] = x[places[:, 1]], y[places[:, 0]]
    key = jax.random.key(0)
    at = lambda points, goals: compiled_values(learner)(params, points, goals, key)[None]
    return measure(maze, values, distances, goal, violated(at, states, goal, bound))


@cache
def compiled_values(learner: Learner) -> Any:
    """The learner's value function, compiled once for all goals and seeds."""
    return jax.jit(learner.values)


def values_on_grid(learner: Learner, params: Parameters, maze: Maze, like: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """V at every grid point, walls included, (rows, columns); other dimensions of the state are those of `like`."""
    x, y, free = maze.grid()
    points = np.tile(like, (free.size, 1))
    points[:, 0], points[:, 1] = np.tile(x, len(y)), np.repeat(y, len(x))
    # One goal for all points, so that a stochastic representation samples once, as it does for the neighbors of a state.
    values = compiled_values(learner)(params, points, goal[None], jax.random.key(0))
    return np.asarray(values).reshape(free.shape)


def measure(maze: Maze, values: np.ndarray, distances: np.ndarray, goal: np.ndarray, violated: float) -> Geometry:
    """All measures of one value surface on a maze's grid."""
    reachable = np.isfinite(distances)
    return Geometry(
        correlation_of(spearmanr, values[reachable], -distances[reachable]),
        correlation_of(pearsonr, values[reachable], -distances[reachable]),
        ascent(values, reachable, maze.straight_distance(goal) <= maze.radius),
        downhill(values, distances),
        jitter(values, reachable),
        violated,
    )


def correlation_of(measure: Callable[..., Any], values: np.ndarray, others: np.ndarray) -> float:
    """A correlation by SciPy's `measure`; 0 if all values are the same, for which it is not defined."""
    return float(measure(values, others).statistic) if np.ptp(values) > 0 else 0.0


def ascent(values: np.ndarray, free: np.ndarray, goal: np.ndarray) -> float:
    """Share of the free states outside the goal from which steepest ascent over free grid neighbors reaches it."""
    following = _steepest(values, free)
    following[goal.ravel()] = np.flatnonzero(goal)  # walks end in the goal
    for _ in range(int(np.ceil(np.log2(values.size)))):  # pointer doubling; values only rise along a walk, so it has no cycles
        following = following[following]
    return float(goal.ravel()[following][(free & ~goal).ravel()].mean())


def _steepest(values: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Index of the neighbor with the steepest rise for every grid point, its own at a maximum; steps do not cut wall corners."""
    rows, columns = values.shape
    index = np.arange(values.size).reshape(values.shape)
    here = np.where(free, values, 0.0)
    padded, open_ = np.pad(here, 1), np.pad(free, 1)

    def at(array: np.ndarray, row: int, column: int) -> np.ndarray:
        """The padded array shifted by an offset."""
        return array[1 + row : 1 + row + rows, 1 + column : 1 + column + columns]

    best, following = np.zeros(values.shape), index.copy()
    for row, column in NEIGHBORS:
        passable = free & at(open_, row, 0) & at(open_, 0, column) & at(open_, row, column)
        rise = np.where(passable, at(padded, row, column) - here, 0.0) / np.hypot(row, column)
        following = np.where(rise > best, index + row * columns + column, following)
        best = np.maximum(best, rise)
    return following.ravel()


def downhill(values: np.ndarray, distances: np.ndarray) -> float:
    """Share of the reachable states where the gradients of V and of minus the distance have a positive scalar product."""
    reachable = np.isfinite(distances)
    agreement = (gradient(values, reachable) * gradient(-distances, reachable)).sum(axis=0)
    return float((agreement[reachable] > 0).mean())


def jitter(values: np.ndarray, free: np.ndarray) -> float:
    """Rms of V minus its local mean, at points whose whole window is free, relative to its typical change over WINDOW."""
    size = 2 * WINDOW + 1
    inside = minimum_filter(free.astype(np.uint8), size, mode="constant") > 0
    known = np.where(free, values, 0.0).astype(float)
    residual = (known - uniform_filter(known, size))[inside]
    change = WINDOW * np.sqrt(np.square(gradient(values, free)[:, inside]).sum(axis=0).mean())
    return float(np.sqrt(np.square(residual).mean()) / change) if change > 0 else 0.0


def violated(at: Callable[..., jax.Array], states: np.ndarray, goal: np.ndarray, bound: Mollified) -> float:
    """Share of neighbors whose value exceeds that of their state by more than the cost of their distance.

    `at(points, goals)` returns values with shape (heads, ...).
    """
    each = replace(
        bound, form="algorithm", fraction=1.0
    )  # with these settings, its metric `active` is the share over single neighbors
    field = Field(at, jnp.asarray(states), jnp.tile(jnp.asarray(goal), (len(states), 1)))
    return float(each(field, jax.random.key(0))[1]["active"])
