"""The geometry of a value surface over a maze, measured: does it fall with the true distance, lead around walls, stay smooth?"""

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

WINDOW = 2
"""Grid points on each side of a point that its local mean is taken over."""
ASKED = 1000
"""States at which the bounds to their neighbors are tried."""
NEIGHBORS = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if (row, column) != (0, 0)]


class Geometry(NamedTuple):
    """Measures of V(., goal) over the free states of a maze, averaged over goals. Distance d is the shortest way's length."""

    rank_correlation: float
    """Spearman's, of V with -d: 1 where every nearer state has the higher value, however it is scaled or discounted."""
    correlation: float
    """Pearson's, of V with -d: 1 where V falls by the same amount with every unit of distance."""
    ascent: float
    """Share of states, beyond the goal's radius, from which always stepping to the neighbor with the steepest rise ends at
    the goal; such a walk stays in free space, so it has to find its way around walls, and stops on any other peak."""
    downhill: float
    """Share of states whose gradient of V points where the true distance falls: dV . d(-d) > 0."""
    jitter: float
    """rms of V minus its mean over 5 x 5 grid points, in units of how much V typically changes over two of them (the rms
    gradient times their distance): 0 for a plane, 0.06 for the distance in a maze, 0.49 for mere noise."""
    violated: float
    """Share of bounds V(s') - V(s) <= c |s' - s| that fail, over neighbors s' drawn as the mollifier draws them."""

    def to_json(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in self._asdict().items()}


def geometry(run: Path | str, bound: Mollified | None = None) -> Geometry | None:
    """The mean over a run's five goals and its seeds; nothing if no value or no distance is known (see `Task.metric`)."""
    found = geometry_of_seeds(run, bound)
    return mean(found) if found else None


def geometry_of_seeds(run: Path | str, bound: Mollified | None = None) -> list[Geometry]:
    """For each seed the mean over the five goals; empty if nothing can be measured.

    `bound` says how neighbors are drawn and what distance costs; by default the run's own mollifier does, or, for a run
    that has none, the paper's. Runs are comparable in `violated` only under one bound.
    """
    description, learner, state = restore(run)
    task = description.task
    if not task.maze or not task.metric or not learner.recipe.has_surface:
        return []
    maze = task.maze()
    own = learner.recipe.regularizer
    bound = bound or (own if isinstance(own, Mollified) else Mollified())
    pairs = list(zip(*first_states(task), strict=True))
    distances = [geodesic(maze, goal) for _, goal in pairs]
    seeds = [jax.tree.map(lambda leaf, i=i: leaf[i], state.params) for i in range(len(description.experiment.seeds))]
    return [
        mean([_of_goal(learner, params, maze, *pair, d, bound) for pair, d in zip(pairs, distances, strict=True)])
        for params in seeds
    ]


def mean(found: list[Geometry]) -> Geometry:
    return Geometry(*(float(value) for value in np.mean(found, axis=0)))


def _of_goal(
    learner: Learner, params: Parameters, maze: Maze, like: np.ndarray, goal: np.ndarray, distances: np.ndarray, bound: Mollified
) -> Geometry:
    values = values_on_grid(learner, params, maze, like, goal)
    places = np.argwhere(np.isfinite(distances))
    places = places[:: max(1, len(places) // ASKED)]
    x, y, _ = maze.grid()
    states = np.tile(like, (len(places), 1))
    states[:, 0], states[:, 1] = x[places[:, 1]], y[places[:, 0]]
    key = jax.random.key(0)
    at = lambda points, goals: compiled_values(learner)(params, points, goals, key)[None]
    return measure(maze, values, distances, goal, violated(at, states, goal, bound))


@cache
def compiled_values(learner: Learner) -> Any:
    """Compiled once for all goals and seeds of a learner."""
    return jax.jit(learner.values)


def values_on_grid(learner: Learner, params: Parameters, maze: Maze, like: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """V over the whole grid, walls too; other dimensions of the state as in `like`."""
    x, y, free = maze.grid()
    points = np.tile(like, (free.size, 1))
    points[:, 0], points[:, 1] = np.tile(x, len(y)), np.repeat(y, len(x))
    # One goal for all points: a representation that draws at random draws once, as for the neighbors of a state.
    values = compiled_values(learner)(params, points, goal[None], jax.random.key(0))
    return np.asarray(values).reshape(free.shape)


def measure(maze: Maze, values: np.ndarray, distances: np.ndarray, goal: np.ndarray, violated: float) -> Geometry:
    """All measures of one field on a maze's grid."""
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
    """0 where values are all the same: nothing can be said of them."""
    return float(measure(values, others).statistic) if np.ptp(values) > 0 else 0.0


def ascent(values: np.ndarray, free: np.ndarray, goal: np.ndarray) -> float:
    """Share of the free states outside the goal from which steepest ascent over the eight free neighbors arrives in it."""
    following = _steepest(values, free)
    following[goal.ravel()] = np.flatnonzero(goal)  # who is there stays
    for _ in range(int(np.ceil(np.log2(values.size)))):  # a walk never comes back: it only climbs
        following = following[following]
    return float(goal.ravel()[following][(free & ~goal).ravel()].mean())


def _steepest(values: np.ndarray, free: np.ndarray) -> np.ndarray:
    """For every grid point the number of its neighbor with the steepest rise; its own on a peak. Corners are not cut."""
    rows, columns = values.shape
    index = np.arange(values.size).reshape(values.shape)
    here = np.where(free, values, 0.0)
    padded, open_ = np.pad(here, 1), np.pad(free, 1)
    at = lambda array, row, column: array[1 + row : 1 + row + rows, 1 + column : 1 + column + columns]
    best, following = np.zeros(values.shape), index.copy()
    for row, column in NEIGHBORS:
        passable = free & at(open_, row, 0) & at(open_, 0, column) & at(open_, row, column)
        rise = np.where(passable, at(padded, row, column) - here, 0.0) / np.hypot(row, column)
        following = np.where(rise > best, index + row * columns + column, following)
        best = np.maximum(best, rise)
    return following.ravel()


def downhill(values: np.ndarray, distances: np.ndarray) -> float:
    """Share of the reachable states where V rises in a direction in which the distance falls."""
    reachable = np.isfinite(distances)
    agreement = (gradient(values, reachable) * gradient(-distances, reachable)).sum(axis=0)
    return float((agreement[reachable] > 0).mean())


def jitter(values: np.ndarray, free: np.ndarray) -> float:
    """How far V is from its local mean, at points whose whole window is free, in units of its typical change over WINDOW."""
    size = 2 * WINDOW + 1
    inside = minimum_filter(free.astype(np.uint8), size, mode="constant") > 0
    known = np.where(free, values, 0.0).astype(float)
    residual = (known - uniform_filter(known, size))[inside]
    change = WINDOW * np.sqrt(np.square(gradient(values, free)[:, inside]).sum(axis=0).mean())
    return float(np.sqrt(np.square(residual).mean()) / change) if change > 0 else 0.0


def violated(at: Callable[..., jax.Array], states: np.ndarray, goal: np.ndarray, bound: Mollified) -> float:
    """Share of neighbors that are better than their state by more than the way there costs; `at` gives (heads, ...)."""
    each = replace(bound, form="algorithm", fraction=1.0)  # its `active` is then the share over single neighbors
    field = Field(at, jnp.asarray(states), jnp.tile(jnp.asarray(goal), (len(states), 1)))
    return float(each(field, jax.random.key(0))[1]["active"])
