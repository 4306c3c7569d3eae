"""Episodes as strips of stills, one row per run: what a policy does, on paper."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from mvl.errors import UsageError
from mvl.plots import drawing
from mvl.runs.folder import RunFolder
from mvl.runs.stills import Episode, episode
from mvl.runs.video import in_words
from mvl.tasks.maze import Maze

SIDE = 2.0
"""Width of a still, in inches."""


def strip(runs: list[Path], to: Path, task: int = 1, frames: int = 6, seed: int = 0) -> list[Episode]:
    """Draw an episode of each run's first seed at equal times; runs of one task can be compared row by row.

    Environments are rendered; a maze is drawn as a map with the path so far.
    """
    tasks = {RunFolder.open(run)[1].task for run in runs}
    if len({one.world or str(one) for one in tasks}) > 1:
        raise UsageError(f"these runs are of different environments ({', '.join(sorted(map(str, tasks)))}); draw runs of one.")
    pixels = round(SIDE * drawing.DOTS_PER_INCH)
    episodes = [episode(run, task, frames, pixels, seed) for run in runs]
    figure = Figure(figsize=(SIDE * frames, (SIDE + 0.42) * len(runs)), layout="constrained")
    rows = figure.subfigures(len(runs), 1, squeeze=False)[:, 0]
    for row, played in zip(rows, episodes, strict=True):
        _row(row, played, task, frames)
    drawing.save(figure, to)
    return episodes


def _row(figure: Any, played: Episode, task: int, frames: int) -> None:
    """One episode, with a title."""
    about = played.description
    maze = about.task.maze() if about.task.maze else None
    axes = figure.subplots(1, frames, squeeze=False)[0]
    for number, ax in enumerate(axes):
        ax.set(xticks=[], yticks=[])
        if number >= len(played.steps):  # the episode has fewer steps than there are stills
            ax.set_axis_off()
        elif maze is None:
            ax.imshow(played.pictures[number])
        else:
            _map(ax, maze, played, played.steps[number])
    for ax, step in zip(axes, played.steps, strict=False):
        ax.set_xlabel(f"step {step}", fontsize=8)
    name = about.experiment.recipe_name
    figure.suptitle(f"{about.task}, task {task}, {name}: {in_words(played.reached)}", fontsize=10)


def _map(ax: Any, maze: Maze, played: Episode, step: int) -> None:
    """The path until a step, and the goal."""
    drawing.walls(ax, maze)
    drawing.paths(ax, [played.path[: step + 1]])
    drawing.goals(ax, played.goal[None])
    ax.plot(*played.path[step, :2], "o", color=drawing.PATH_COLOR, markeredgecolor="black", markersize=6, zorder=2.3)
