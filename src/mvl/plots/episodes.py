"""Pictures of a value for tasks without a maze: along logged episodes, and over two principal components of the states."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure

from mvl.data.dataset import Dataset
from mvl.data.history import states_at
from mvl.data.signals import dimension_names
from mvl.errors import UsageError
from mvl.learn.learner import Learner, Parameters
from mvl.plots import drawing
from mvl.plots.drawing import COLORS
from mvl.runs.data import data_of
from mvl.runs.restore import restore

EPISODES = 4
POINTS = 4000
"""States drawn in the projection."""
LAST_STEPS = 100
"""Steps before the goal that are drawn in the projection; more would not be readable."""


def value_along_episodes(run: Path | str, to: Path, data: Dataset | None = None) -> None:
    """Draw V(s, g) of a run's first seed on held-out data, where g is the end of an episode. Needs no simulator."""
    description, learner, state = restore(run)
    if not learner.recipe.has_surface:
        raise UsageError(f"{description.experiment.recipe_name} learns no value to draw.")
    _, held_out = data_of(description, data, run)
    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    lines, *others = figure.subplots(1, 1 if held_out.image else 2, squeeze=False)[0]
    chosen = np.linspace(0, len(held_out.ends) - 1, min(EPISODES, len(held_out.ends))).astype(int)
    for color, episode in zip(COLORS, chosen, strict=False):
        rows = np.arange(held_out.starts[episode], held_out.ends[episode])
        lines.plot(rows - rows[-1], _values(learner, params, held_out, rows, rows[-1]), color=color, linewidth=1.4)
    lines.set(xlabel="steps before the episode's end", ylabel="V(s, end of the episode)")
    lines.grid(alpha=0.3)
    for ax in others:  # images have no plane to be drawn on
        _projection(figure, ax, learner, params, held_out, chosen[0])
    figure.suptitle(f"{description.task.label}, {description.experiment.recipe_name}, {int(state.step[0])} steps", fontsize=11)
    drawing.save(figure, to)


def _values(learner: Learner, params: Parameters, data: Dataset, rows: np.ndarray, goal: int) -> np.ndarray:
    """V(s, g) for the states of some rows; the goal is that of row `goal`."""
    goals = data.observations if data.oracle is None else data.oracle
    states = states_at(data, rows, learner.recipe.learning.history)
    return np.asarray(jax.jit(learner.values)(params, states, goals[goal][None], jax.random.key(0)))


def _projection(figure: Figure, ax: Any, learner: Learner, params: Parameters, data: Dataset, episode: int) -> None:
    """States as points, colored by their value for the end of one episode, with the last steps of that episode."""
    rows = np.linspace(0, len(data.observations) - 1, min(POINTS, len(data.observations))).astype(int)
    goal = int(data.ends[episode]) - 1
    project, names = _plane(data)
    values = _values(learner, params, data, rows, goal)
    points = ax.scatter(*project(data.observations[rows]).T, c=values, s=6, cmap="viridis", linewidths=0)
    path = project(data.observations[max(data.starts[episode], goal + 1 - LAST_STEPS) : goal + 1])
    ax.plot(*path.T, color="white", linewidth=2.4)
    ax.plot(*path.T, color=COLORS[0], linewidth=1.2)
    ax.plot(*path[-1], "*", color="#f0e442", markeredgecolor="black", markersize=12)
    ax.set(xlabel=names[0], ylabel=names[1])
    figure.colorbar(points, ax=ax, label="V(s, star)")


def _plane(data: Dataset) -> tuple[Any, tuple[str, str]]:
    """A projection of states to their first two principal components (standardized), with names; 2-D states stay as they are."""
    if data.observations.shape[1] == 2:
        names = dimension_names(data.signals.observations) if data.signals else []
        return (lambda states: states), (names[0], names[1]) if names else ("observation 0", "observation 1")
    seen = data.sampled.observations
    center, deviation = seen.mean(axis=0), np.asarray(data.statistics.std)
    axes = np.linalg.svd((seen[:: max(1, len(seen) // POINTS)] - center) / deviation, full_matrices=False)[2][:2]
    if len(axes) == 1:
        axes = np.concatenate([axes, np.zeros_like(axes)])
    return (lambda states: (states - center) / deviation @ axes.T), ("first principal component", "second principal component")
