"""Pictures of value surfaces over mazes: contours, gradients, walls, goals and the paths a policy takes."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure

from mvl.errors import UsageError
from mvl.evaluation.rollout import Played
from mvl.plots import drawing
from mvl.results.geometry import values_on_grid
from mvl.results.shortest_paths import gradient
from mvl.runs.evaluation import evaluate
from mvl.runs.restore import restore
from mvl.tasks.maze import Maze


def picture(run: Path | str, to: Path, episodes: int = 4, task: int | None = None) -> Played:
    """Draw a run's value over its maze, one panel per task (or only `task`, from 1), with a few episodes; returns the episodes.

    Uses the run's first seed. A recipe without a value, such as behavioral cloning, shows only the paths.
    """
    description, learner, state = restore(run)
    if description.task.maze is None:
        raise UsageError(f"{description.task} has no maze to draw.")
    maze = description.task.maze()
    played = evaluate(run, episodes=episodes, record=True)
    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    shown = chosen_tasks(task, played.success.shape[1])
    width = 3.1 if len(shown) > 1 else 5.0
    figure = Figure(figsize=(width * len(shown), width * maze.walls.shape[0] / maze.walls.shape[1] + 0.7), layout="constrained")
    for ax, number in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        paths = played.paths[number * episodes : (number + 1) * episodes]
        if learner.recipe.has_surface:
            surface(ax, maze, values_on_grid(learner, params, maze, paths[0][0], played.goals[0, number, 0]))
        drawing.walls(ax, maze)
        drawing.paths(ax, paths)
        drawing.goals(ax, played.goals[0, number])
        ax.set_title(f"task {number + 1}: {played.success[0, number].sum()} of {episodes} reached", fontsize=10)
    about = "V(s, goal), " if learner.recipe.has_surface else ""
    figure.suptitle(f"{about}{description.task}, {description.experiment.recipe_name}, {int(state.step[0])} steps", fontsize=11)
    drawing.save(figure, to)
    return played


def chosen_tasks(task: int | None, tasks: int) -> list[int]:
    """Task indices from 0: all of them, or only `task`, which is counted from 1."""
    if task is not None and not 1 <= task <= tasks:
        raise UsageError(f"task {task} does not exist; choose one of 1 to {tasks}.")
    return list(range(tasks)) if task is None else [task - 1]


def surface(ax: Any, maze: Maze, values: np.ndarray) -> None:
    """Contours of a value on the maze's grid, and arrows along its gradient."""
    drawing.contours(ax, maze, values)
    drawing.arrows(ax, maze, gradient(values, maze.grid()[2]))
