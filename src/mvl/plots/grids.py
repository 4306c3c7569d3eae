"""Value contours of several runs for one goal, side by side: the paper's 2 x 4 figure."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from mvl.errors import UsageError
from mvl.plots import drawing
from mvl.plots.fields import chosen_tasks, surface
from mvl.results.geometry import ascent, correlation_of, values_on_grid
from mvl.results.shortest_paths import geodesic
from mvl.runs.folder import RunFolder
from mvl.runs.restore import restore
from mvl.tasks.maze import Maze
from mvl.tasks.simulator import first_states


def grid(runs: list[Path], to: Path, task: int, rows: int = 2, report: Callable[[int, int], None] = lambda *_: None) -> None:
    """Draw the value of each run's first seed for the goal of one task (from 1), each with its own color range, row by row.

    The title of a panel has Spearman's correlation of the value with minus the true distance, and the share of states from
    which steepest ascent leads to the goal (see mvl.results.geometry).
    """
    tasks = {RunFolder.open(run)[1].task for run in runs}
    if len(tasks) > 1:
        raise UsageError(f"these runs are of different tasks ({', '.join(sorted(map(str, tasks)))}); compare runs of one.")
    (runs_task,) = tasks
    if runs_task.maze is None:
        raise UsageError(f"{runs_task} has no maze to draw; draw one run with: mvl plot field {runs[0]}")
    maze = runs_task.maze()
    (number,) = chosen_tasks(task, runs_task.goals)
    starts, goals = first_states(runs_task)
    columns = -(-len(runs) // rows)
    height, width = maze.walls.shape
    figure = Figure(figsize=(2.4 * columns, rows * (2.4 * height / width + 0.42) + 0.3), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for index, (ax, run) in enumerate(zip(axes, runs, strict=False)):
        _panel(ax, run, maze, starts[number], goals[number])
        report(index + 1, len(runs))
    for ax in axes[len(runs) :]:
        ax.set_axis_off()
    figure.suptitle(f"V(s, star), {runs_task}, task {task}", fontsize=11)
    drawing.save(figure, to)


def _panel(ax: Any, run: Path, maze: Maze, start: np.ndarray, goal: np.ndarray) -> None:
    description, learner, state = restore(run)
    if not learner.recipe.has_surface:
        raise UsageError(f"{run}: {description.experiment.recipe_name} learns no value to draw.")
    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    values = values_on_grid(learner, params, maze, start, goal)
    surface(ax, maze, values)
    drawing.walls(ax, maze)
    drawing.goals(ax, goal[None])
    measures = f"\n{_measures(maze, values, goal)}" if description.task.metric else ""
    ax.set_title(f"{description.experiment.recipe_name}{measures}", fontsize=9)


def _measures(maze: Maze, values: np.ndarray, goal: np.ndarray) -> str:
    distances = geodesic(maze, goal)
    free = np.isfinite(distances)
    rank = correlation_of(spearmanr, values[free], -distances[free])
    return f"rank {rank:.2f}, ascent {ascent(values, free, maze.straight_distance(goal) <= maze.radius):.0%}"
