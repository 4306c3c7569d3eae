"""The distribution of a policy's directions, drawn as fans at points of a path that it took."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Wedge
from scipy.special import ndtr

from mvl.errors import UsageError
from mvl.learn.learner import Learner, Parameters
from mvl.plots import drawing
from mvl.plots.fields import chosen_tasks
from mvl.policies.flow import Flow
from mvl.results.geometry import values_on_grid
from mvl.runs.evaluation import evaluate
from mvl.runs.restore import restore
from mvl.tasks.maze import Maze

DRAWS = 4000
"""Actions of a flow policy that are sampled at each waypoint."""
DIRECTIONS = 36
FAN_COLOR = "#cc79a7"


def fans(runs: list[Path], to: Path, task: int = 1, waypoints: int = 16, temperature: float = 0.4) -> None:
    """Draw one panel per run: an episode of a task (from 1) by its first seed, with fans at waypoints along it.

    The area of a wedge is the probability of its direction. For a normal policy that is computed from its density, with the
    temperature as standard deviation (it is trained with 1, where all directions look alike); for a hierarchical policy from
    its low-level policy, toward the proposed sub-goal. A flow policy has no temperature: its actions are sampled and counted.
    """
    figure = Figure(figsize=(4.6 * len(runs), 4.0), layout="constrained")
    for ax, run in zip(figure.subplots(1, len(runs), squeeze=False)[0], runs, strict=True):
        _panel(ax, run, task, waypoints, temperature)
    drawing.save(figure, to)


def _panel(ax: Any, run: Path, task: int, waypoints: int, temperature: float) -> None:
    description, learner, state = restore(run)
    if description.task.maze is None or learner.shapes.action != 2 or learner.shapes.levels:
        raise UsageError(f"{run}: actions of {description.task} are not directions in a plane, so there are no fans to draw.")
    maze = description.task.maze()
    (number,) = chosen_tasks(task, description.task.goals)
    played = evaluate(run, episodes=1, record=True)
    path, goal = played.paths[number], played.goals[0, number, 0]
    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    if learner.recipe.has_surface:
        drawing.contours(ax, maze, values_on_grid(learner, params, maze, path[0], goal))
    drawing.walls(ax, maze)
    drawing.paths(ax, [path])
    chosen = equally_spaced(path, waypoints)
    probabilities = directions(learner, params, chosen, goal, temperature)
    _draw_fans(ax, maze, chosen, probabilities)
    drawing.goals(ax, goal[None])
    reached = "reached" if played.success[0, number, 0] else "not reached"
    ax.set_title(f"{description.experiment.recipe_name}, {int(state.step[0])} steps: task {task} {reached}", fontsize=10)


def equally_spaced(path: np.ndarray, count: int) -> np.ndarray:
    """States of a path at equal distances along it, with its start and without its end; at most `count`."""
    lengths = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1))])
    rows = np.searchsorted(lengths, np.linspace(0, lengths[-1], count, endpoint=False))
    return path[np.unique(rows)]


def directions(learner: Learner, params: Parameters, states: np.ndarray, goal: np.ndarray, temperature: float) -> np.ndarray:
    """The policy's probability of each of DIRECTIONS equal angles, from the x axis on: (states, DIRECTIONS)."""

    def act(state: jax.Array, key: jax.Array, temperature: jax.Array) -> jax.Array:
        return learner.act(params, state, jnp.asarray(goal), key, temperature)

    draws = DRAWS if isinstance(learner.recipe.policy, Flow) else 1
    keys = jax.random.split(jax.random.key(0), draws)
    act_batch = jax.jit(jax.vmap(jax.vmap(act, (None, 0, None)), (0, None, None)))
    actions = np.asarray(act_batch(jnp.asarray(states), keys, jnp.zeros(())))  # (states, draws, 2)
    return counted_directions(actions) if draws > 1 else normal_directions(actions[:, 0], temperature)


def normal_directions(means: np.ndarray, deviation: float) -> np.ndarray:
    """Probabilities of the directions of N(mean, deviation^2 I) in the plane, for means (states, 2).

    With b = mean . u / deviation, the density of a direction u is
    exp(-|mean|^2 / 2 deviation^2) (1 + sqrt(2 pi) b Phi(b) exp(b^2 / 2)) / 2 pi.
    """
    angles = (np.arange(DIRECTIONS) + 0.5) * 2 * np.pi / DIRECTIONS
    b = means @ np.stack([np.cos(angles), np.sin(angles)]) / deviation  # (states, DIRECTIONS)
    exponent = np.square(means).sum(axis=1, keepdims=True) / (2 * deviation**2)
    density: np.ndarray = np.exp(-exponent) + np.sqrt(2 * np.pi) * b * ndtr(b) * np.exp(b**2 / 2 - exponent)
    probabilities: np.ndarray = density / density.sum(axis=1, keepdims=True)
    return probabilities


def counted_directions(actions: np.ndarray) -> np.ndarray:
    """Fraction of sampled actions (states, draws, 2) in each direction: (states, DIRECTIONS)."""
    angles = np.arctan2(actions[..., 1], actions[..., 0]) % (2 * np.pi)
    bins = np.minimum((angles / (2 * np.pi) * DIRECTIONS).astype(int), DIRECTIONS - 1)
    counts = [np.bincount(row, minlength=DIRECTIONS) for row in bins]
    return np.stack([row / actions.shape[1] for row in counts])


def _draw_fans(ax: Any, maze: Maze, states: np.ndarray, probabilities: np.ndarray) -> None:
    """A fan of wedges at each state; the longest wedge of a fan is half a cell long."""
    width = 360 / DIRECTIONS
    radii = 0.5 * maze.unit * np.sqrt(probabilities / probabilities.max(axis=1, keepdims=True))
    wedges = [
        Wedge(state[:2], radius, number * width, (number + 1) * width)
        for state, row in zip(states, radii, strict=True)
        for number, radius in enumerate(row)
    ]
    ax.add_collection(PatchCollection(wedges, facecolor=FAN_COLOR, edgecolor="white", linewidth=0.15, alpha=0.85, zorder=2.05))
    ax.plot(states[:, 0], states[:, 1], ".", color="black", markersize=2.5, zorder=2.1)
