"""Pictures of value surfaces over mazes: contours, gradients or plans, walls, goals and the paths a policy takes."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from mvl.errors import UsageError
from mvl.evaluation.rollout import Played
from mvl.planning.following import Follower
from mvl.plots import drawing
from mvl.recipes.presets import PlannerName
from mvl.results.geometry import values_on_grid
from mvl.results.shortest_paths import gradient
from mvl.runs.evaluation import evaluate
from mvl.runs.planning import Report, followers, planner_of
from mvl.runs.restore import restore
from mvl.tasks.maze import Maze

PLAN_COLOR = drawing.COLORS[0]


def picture(
    run: Path | str,
    to: Path,
    episodes: int = 4,
    task: int | None = None,
    plan: PlannerName | None = None,
    report: Report | None = None,
) -> Played:
    """Draw a run's value over its maze, one panel per task (or only `task`, from 1), with a few episodes; returns the episodes.

    Uses the run's first seed. A policy that plans (`plan`, by default as in its evaluations) shows its plan instead of the
    value's gradient. A recipe without a value, such as behavioral cloning, shows only the paths.
    """
    description, learner, state = restore(run)
    if description.task.maze is None:
        raise UsageError(f"{description.task} has no maze to draw.")
    maze, graph = description.task.maze(), planner_of(description.experiment.schedule, plan)
    follower = followers(Path(run), description, learner, state, graph, report)[0] if graph else None
    played = evaluate(run, episodes=episodes, record=True, plan=plan)
    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    shown = chosen_tasks(task, played.success.shape[1])
    width = (2.75 if follower else 3.1) if len(shown) > 1 else 5.0  # a plan has many lines, and the file stays below 300 kB
    figure = Figure(figsize=(width * len(shown), width * maze.walls.shape[0] / maze.walls.shape[1] + 0.7), layout="constrained")
    for ax, number in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        paths = played.paths[number * episodes : (number + 1) * episodes]
        if learner.recipe.has_surface:
            surface(ax, maze, values_on_grid(learner, params, maze, paths[0][0], played.goals[0, number, 0]), not follower)
        drawing.walls(ax, maze)
        if follower:
            planned_path(ax, follower, paths[0][0], played.goals[0, number, 0])
        drawing.paths(ax, paths)
        drawing.goals(ax, played.goals[0, number])
        ax.set_title(f"task {number + 1}: {played.success[0, number].sum()} of {episodes} reached", fontsize=10)
    about = "V(s, goal), " if learner.recipe.has_surface else ""
    about += f"plan over {len(follower.map.observations)} nodes, " if follower else ""
    figure.suptitle(f"{about}{description.task}, {description.experiment.recipe_name}, {int(state.step[0])} steps", fontsize=11)
    drawing.save(figure, to)
    return played


def chosen_tasks(task: int | None, tasks: int) -> list[int]:
    """Task indices from 0: all of them, or only `task`, which is counted from 1."""
    if task is not None and not 1 <= task <= tasks:
        raise UsageError(f"task {task} does not exist; choose one of 1 to {tasks}.")
    return list(range(tasks)) if task is None else [task - 1]


def surface(ax: Any, maze: Maze, values: np.ndarray, arrows: bool = True) -> None:
    """Contours of a value on the maze's grid, and arrows along its gradient."""
    drawing.contours(ax, maze, values)
    if arrows:
        drawing.arrows(ax, maze, gradient(values, maze.grid()[2]))


def planned_path(ax: Any, follower: Follower, start: np.ndarray, goal: np.ndarray) -> None:
    """The nodes, the shortest path from each of them to the goal, the path from the start, and the first sub-goal on it."""
    follower.begin(start[None], goal[None])
    places, onward = follower.map.goals[:, :2], follower.onward[0, :-1]
    ends = np.concatenate([places, goal[None, :2]])[onward]
    tree = np.stack([places, ends], axis=1)[np.isfinite(follower.cost[0])]
    ax.add_collection(LineCollection(list(tree), colors="white", linewidths=0.3, alpha=0.35, zorder=1.6))
    ax.plot(*places.T, ".", color="white", markersize=0.8, alpha=0.6, zorder=1.6)
    path = np.concatenate([start[None, :2], follower.path(0)[:, :2]])
    ax.plot(*path.T, color=PLAN_COLOR, linewidth=2.4, marker="o", markersize=2.8, zorder=1.8)
    subgoal = follower.subgoals(start[None])[0]
    ax.plot(*subgoal[:2], "o", color=PLAN_COLOR, markeredgecolor="white", markersize=8, zorder=2.15)
