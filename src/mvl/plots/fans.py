"""Which way a policy would go: its actions' directions as fans along the way it took."""

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
"""Actions of a flow drawn at each waypoint."""
DIRECTIONS = 36
FAN_COLOR = "#cc79a7"


def fans(runs: list[Path], to: Path, task: int = 1, waypoints: int = 16, temperature: float = 0.4) -> None:
    """One panel per run: an episode of a task (from 1) of its first seed, and at places along it the policy's fan.

    A wedge's area is the probability of its direction. A normal policy has a density, here with the temperature as its
    spread (it is trained with 1, at which it barely leans to any side); a hierarchical one that of its low policy, toward
    the sub-goal its high one proposes. Of a flow, which knows no temperature, actions are drawn and counted.
    """
    figure = Figure(figsize=(4.6 * len(runs), 4.0), layout="constrained")
    for ax, run in zip(figure.subplots(1, len(runs), squeeze=False)[0], runs, strict=True):
        _panel(ax, run, task, waypoints, temperature)
    drawing.save(figure, to)


def _panel(ax: Any, run: Path, task: int, waypoints: int, temperature: float) -> None:
    description, learner, state = restore(run)
    if description.task.maze is None or learner.shapes.action != 2:
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
    chosen = along(path, waypoints)
    shares = directions(learner, params, chosen, goal, temperature)
    _draw_fans(ax, maze, chosen, shares)
    drawing.goals(ax, goal[None])
    reached = "reached" if played.success[0, number, 0] else "not reached"
    ax.set_title(f"{description.experiment.recipe_name}, {int(state.step[0])} steps: task {task} {reached}", fontsize=10)


def along(path: np.ndarray, count: int) -> np.ndarray:
    """States of a path that lie equally far apart along it, from its start on (not its end)."""
    lengths = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1))])
    places = np.searchsorted(lengths, np.linspace(0, lengths[-1], count, endpoint=False))
    return path[np.unique(places)]


def directions(learner: Learner, params: Parameters, states: np.ndarray, goal: np.ndarray, temperature: float) -> np.ndarray:
    """The policy's probability of each of DIRECTIONS equal angles, counted from the x axis: (states, DIRECTIONS)."""

    def act(state: jax.Array, key: jax.Array, heat: jax.Array) -> jax.Array:
        return learner.act(params, state, jnp.asarray(goal), key, heat)

    draws = DRAWS if isinstance(learner.recipe.policy, Flow) else 1
    keys = jax.random.split(jax.random.key(0), draws)
    every = jax.jit(jax.vmap(jax.vmap(act, (None, 0, None)), (0, None, None)))
    actions = np.asarray(every(jnp.asarray(states), keys, jnp.zeros(())))  # (states, draws, 2)
    return shares_of(actions) if draws > 1 else normal_shares(actions[:, 0], temperature)


def normal_shares(means: np.ndarray, spread: float) -> np.ndarray:
    """Of N(mean, spread^2 I) in the plane: with b = mean . u / spread for a direction u, its density there is
    exp(-|mean|^2 / 2 spread^2) (1 + sqrt(2 pi) b Phi(b) exp(b^2 / 2)) / 2 pi."""
    angles = (np.arange(DIRECTIONS) + 0.5) * 2 * np.pi / DIRECTIONS
    along = means @ np.stack([np.cos(angles), np.sin(angles)]) / spread  # (states, DIRECTIONS)
    far = np.square(means).sum(axis=1, keepdims=True) / (2 * spread**2)
    density = np.exp(-far) + np.sqrt(2 * np.pi) * along * ndtr(along) * np.exp(along**2 / 2 - far)
    return density / density.sum(axis=1, keepdims=True)


def shares_of(actions: np.ndarray) -> np.ndarray:
    """Of actions (states, draws, 2), how many point into each angle."""
    angles = np.arctan2(actions[..., 1], actions[..., 0]) % (2 * np.pi)
    bins = np.minimum((angles / (2 * np.pi) * DIRECTIONS).astype(int), DIRECTIONS - 1)
    return np.stack([np.bincount(row, minlength=DIRECTIONS) for row in bins]) / actions.shape[1]


def _draw_fans(ax: Any, maze: Maze, places: np.ndarray, shares: np.ndarray) -> None:
    """Wedges; the likeliest of a place reaches as far as half a cell."""
    width = 360 / DIRECTIONS
    reach = 0.5 * maze.unit * np.sqrt(shares / shares.max(axis=1, keepdims=True))
    wedges = [
        Wedge(place[:2], radius, number * width, (number + 1) * width)
        for place, row in zip(places, reach, strict=True)
        for number, radius in enumerate(row)
    ]
    ax.add_collection(PatchCollection(wedges, facecolor=FAN_COLOR, edgecolor="white", linewidth=0.15, alpha=0.85, zorder=2.05))
    ax.plot(places[:, 0], places[:, 1], ".", color="black", markersize=2.5, zorder=2.1)
