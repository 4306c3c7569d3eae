"""Pictures of value surfaces over mazes: contours, walls, goals and the paths a policy takes."""

from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure

from mvl.data.files import atomic
from mvl.errors import UsageError
from mvl.evaluation.rollout import Played
from mvl.learn.learner import Learner, Parameters
from mvl.report.mazes import Maze, maze_of
from mvl.runs.evaluation import evaluate, restore


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


def picture(run: Path | str, to: Path, episodes: int = 4) -> Played:
    """Value contours for the five tasks' goals with a few played episodes over them, of the run's first seed."""
    description, learner, state = restore(run)
    maze = maze_of(description.task) if description.simulated else None
    if maze is None:
        raise UsageError(f"{description.task} has no maze to draw.")
    played = evaluate(run, episodes=episodes, record=True)
    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    tasks = played.success.shape[1]
    figure = Figure(figsize=(3.1 * tasks, 3.6), layout="constrained")
    axes = figure.subplots(1, tasks, squeeze=False)[0]
    for task, ax in enumerate(axes):
        paths = played.paths[task * episodes : (task + 1) * episodes]
        if learner.recipe.has_surface:  # who only imitates has paths to show, but no value
            _contours(ax, maze, values_on_grid(learner, params, maze, paths[0][0], played.goals[0, task, 0]))
        _panel(ax, maze, paths, played.goals[0, task])
        ax.set_title(f"task {task + 1}: {played.success[0, task].sum()} of {episodes} reached", fontsize=10)
    shown = "V(s, goal), " if learner.recipe.has_surface else ""
    figure.suptitle(f"{shown}{description.task}, {description.recipe_name}, {int(state.step[0])} steps", fontsize=11)
    with atomic(to) as partial:
        figure.savefig(partial, dpi=110)
    return played


def _contours(ax: Any, maze: Maze, values: np.ndarray) -> None:
    x, y, free = maze.grid()
    levels = np.linspace(values[free].min(), values[free].max(), 21)
    ax.contourf(x, y, values, levels=levels, cmap="viridis", extend="both")
    ax.contour(x, y, values, levels=levels, colors="white", linewidths=0.3, alpha=0.6, zorder=1.2)


def _panel(ax: Any, maze: Maze, paths: list[np.ndarray], goals: np.ndarray) -> None:
    walls = np.where(maze.walls, 0.25, np.nan)
    ax.imshow(walls, extent=maze.extent, origin="lower", cmap="gray", vmin=0, vmax=1, interpolation="nearest", zorder=1.5)
    for path in paths:
        ax.plot(path[:, 0], path[:, 1], color="white", linewidth=2.2)
        ax.plot(path[:, 0], path[:, 1], color="#d55e00", linewidth=1.2)
        ax.plot(*path[0, :2], "o", color="white", markeredgecolor="black", markersize=5)
    ax.plot(goals[:, 0], goals[:, 1], "*", color="#f0e442", markeredgecolor="black", markersize=11, linestyle="none")
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=maze.extent[:2], ylim=maze.extent[2:])
