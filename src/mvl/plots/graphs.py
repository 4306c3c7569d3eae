"""Pictures of plans over mazes: nodes of the graph, shortest paths to the goal, the path that is taken, and its sub-goal."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from mvl.errors import UsageError
from mvl.planning.following import Follower
from mvl.plots import drawing
from mvl.plots.fields import chosen_tasks
from mvl.results.geometry import values_on_grid
from mvl.runs.evaluation import evaluate
from mvl.runs.planning import Report, followers, planner_of
from mvl.runs.restore import restore

PLAN_COLOR = drawing.COLORS[0]


def picture(run: Path | str, to: Path, episodes: int = 4, task: int | None = None, report: Report | None = None) -> None:
    """Draw the graph of a run's first seed, one panel per task (or only `task`, from 1), with a few planned episodes."""
    description, learner, state = restore(run)
    if description.task.maze is None:
        raise UsageError(f"{description.task} has no maze to draw.")
    maze, graph = description.task.maze(), planner_of(description.experiment.schedule, "graph")
    assert graph is not None, "named above"
    follower = followers(Path(run), description, learner, state, graph, report)[0]
    played = evaluate(run, episodes=episodes, record=True, plan="graph")
    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    shown = chosen_tasks(task, played.success.shape[1])
    width = 3.1 if len(shown) > 1 else 5.0
    figure = Figure(figsize=(width * len(shown), width * maze.walls.shape[0] / maze.walls.shape[1] + 0.7), layout="constrained")
    for ax, number in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        paths = played.paths[number * episodes : (number + 1) * episodes]
        goal = played.goals[0, number, 0]
        drawing.contours(ax, maze, values_on_grid(learner, params, maze, paths[0][0], goal))
        drawing.walls(ax, maze)
        plan(ax, follower, paths[0][0], goal)
        drawing.paths(ax, paths)
        drawing.goals(ax, goal[None])
        ax.set_title(f"task {number + 1}: {played.success[0, number].sum()} of {episodes} reached", fontsize=10)
    name, nodes = description.experiment.recipe_name, len(follower.map.observations)
    figure.suptitle(f"V(s, goal) and plan, {description.task}, {name}, {int(state.step[0])} steps, {nodes} nodes", fontsize=11)
    drawing.save(figure, to)


def plan(ax: Any, follower: Follower, start: np.ndarray, goal: np.ndarray) -> None:
    """The nodes, the shortest path from each of them to the goal, the path from the start, and the first sub-goal on it."""
    follower.begin(start[None], goal[None])
    places, onward = follower.map.goals[:, :2], follower.onward[0]
    ends = np.concatenate([places, goal[None, :2]])[onward]
    tree = np.stack([places, ends], axis=1)[np.isfinite(follower.cost[0])]
    ax.add_collection(LineCollection(list(tree), colors="white", linewidths=0.3, alpha=0.35, zorder=1.6))
    ax.plot(*places.T, ".", color="white", markersize=0.8, alpha=0.6, zorder=1.6)
    path = np.concatenate([start[None, :2], follower.path(0)[:, :2]])
    ax.plot(*path.T, color=PLAN_COLOR, linewidth=2.4, marker="o", markersize=2.8, zorder=1.8)
    subgoal = follower.subgoals(start[None])[0]
    ax.plot(*subgoal[:2], "o", color=PLAN_COLOR, markeredgecolor="white", markersize=8, zorder=2.15)
