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


def grid(runs: list[Path], to: Path, task: int, rows: int = 2, told: Callable[[int, int], None] = lambda *_: None) -> None:
    """The runs in the order given, row after row, each over its own range of values; of each run the first seed.

    Beneath a name: Spearman's correlation with minus the true distance, and the share of states from which steepest
    ascent leads to the goal (see mvl.results.geometry).
    """
    tasks = {RunFolder.open(run)[1].task for run in runs}
    if len(tasks) > 1:
        raise UsageError(f"these runs are of different tasks ({', '.join(sorted(map(str, tasks)))}); compare runs of one.")
    (name,) = tasks
    if name.maze is None:
        raise UsageError(f"{name} has no maze to draw; see one run with: mvl plot field {runs[0]}")
    maze = name.maze()
    (number,) = chosen_tasks(task, name.goals)
    starts, goals = first_states(name)
    columns = -(-len(runs) // rows)
    tall, wide = maze.walls.shape
    figure = Figure(figsize=(2.4 * columns, rows * (2.4 * tall / wide + 0.42) + 0.3), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for index, (ax, run) in enumerate(zip(axes, runs, strict=False)):
        _panel(ax, run, maze, starts[number], goals[number])
        told(index + 1, len(runs))
    for ax in axes[len(runs) :]:
        ax.set_axis_off()
    figure.suptitle(f"V(s, star), {name}, task {task}", fontsize=11)
    drawing.save(figure, to)


def _panel(ax: Any, run: Path, maze: Maze, like: np.ndarray, goal: np.ndarray) -> None:
    description, learner, state = restore(run)
    if not learner.recipe.has_surface:
        raise UsageError(f"{run}: {description.experiment.recipe_name} learns no value to draw.")
    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    values = values_on_grid(learner, params, maze, like, goal)
    surface(ax, maze, values)
    drawing.walls(ax, maze)
    drawing.goals(ax, goal[None])
    figures = f"\n{_figures(maze, values, goal)}" if description.task.metric else ""
    ax.set_title(f"{description.experiment.recipe_name}{figures}", fontsize=9)


def _figures(maze: Maze, values: np.ndarray, goal: np.ndarray) -> str:
    distances = geodesic(maze, goal)
    free = np.isfinite(distances)
    rank = correlation_of(spearmanr, values[free], -distances[free])
    return f"rank {rank:.2f}, ascent {ascent(values, free, maze.straight_distance(goal) <= maze.radius):.0%}"
