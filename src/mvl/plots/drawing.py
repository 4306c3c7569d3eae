"""Elements that pictures share: contours, arrows, walls and paths, in colors that color-blind readers can tell apart."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from mvl.errors import UsageError
from mvl.files import atomic, new_file
from mvl.tasks.maze import POINTS_PER_CELL, Maze

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The palette of Okabe and Ito."""
PATH_COLOR, GOAL_COLOR, WALL_GRAY = COLORS[1], "#f0e442", 0.25
SUFFIXES = (".png", ".svg")
DOTS_PER_INCH = 110
"""Of PNG files: readable in print, and the largest picture stays below 300 kB."""
CONTOUR_LEVELS = 21
ARROW_SPACING = POINTS_PER_CELL // 2
"""Grid points from one arrow to the next."""


def new_picture(to: Path, overwrite: bool) -> Path:
    """Check the file name of a new picture before anything is computed, and return it."""
    if to.suffix not in SUFFIXES:
        raise UsageError(f"a picture's name ends in {' or '.join(SUFFIXES)}; '{to}' does not.")
    return new_file(to, overwrite)


def save(figure: Figure, to: Path) -> None:
    """Write a figure as PNG or SVG, by its suffix; the same picture gives the same bytes."""
    options: dict[str, Any] = {"metadata": {"Date": None}} if to.suffix == ".svg" else {"pil_kwargs": {"optimize": True}}
    with matplotlib.rc_context({"svg.hashsalt": "mvl"}), atomic(to) as partial:
        figure.savefig(partial, dpi=DOTS_PER_INCH, **options)


def contours(ax: Any, maze: Maze, values: np.ndarray, levels: np.ndarray | None = None) -> Any:
    """Filled contours of values on the maze's grid, by default at levels over their range outside walls."""
    x, y, free = maze.grid()
    low, high = values[free].min(), values[free].max()
    if levels is None:
        levels = np.linspace(low, high if high > low else low + 1, CONTOUR_LEVELS)
    filled = ax.contourf(x, y, values, levels=levels, cmap="viridis", extend="both")
    ax.contour(x, y, values, levels=levels, colors="white", linewidths=0.3, alpha=0.6, zorder=1.2)
    return filled


def arrows(ax: Any, maze: Maze, gradient: np.ndarray) -> None:
    """Directions of a gradient (2, rows, columns) as arrows of equal length; none where it is zero."""
    x, y, free = maze.grid()
    size = np.linalg.norm(gradient, axis=0)
    chosen = np.zeros(free.shape, bool)
    chosen[ARROW_SPACING // 2 :: ARROW_SPACING, ARROW_SPACING // 2 :: ARROW_SPACING] = True
    rows, columns = np.nonzero(chosen & free & (size > 0))
    vectors = 0.7 * ARROW_SPACING * maze.spacing * gradient[:, rows, columns] / size[rows, columns]
    thickness = 0.06 * ARROW_SPACING * maze.spacing
    ax.quiver(
        x[columns], y[rows], *vectors, angles="xy", units="xy", scale_units="xy", scale=1, pivot="mid", width=thickness,
        headwidth=5, headlength=5, headaxislength=4.5, color="white", edgecolor="black", linewidth=0.2, zorder=1.4,
    )  # fmt: skip


def walls(ax: Any, maze: Maze) -> None:
    """The walls of a maze, and axes limits that fit them."""
    shown = np.where(maze.walls, WALL_GRAY, np.nan)
    ax.imshow(shown, extent=maze.extent, origin="lower", cmap="gray", vmin=0, vmax=1, interpolation="nearest", zorder=1.5)
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=maze.extent[:2], ylim=maze.extent[2:])


def paths(ax: Any, positions: list[np.ndarray]) -> None:
    """Played episodes, each an array of states that begin with x and y; a dot marks the start."""
    for path in positions:
        ax.plot(path[:, 0], path[:, 1], color="white", linewidth=2.2, zorder=2)
        ax.plot(path[:, 0], path[:, 1], color=PATH_COLOR, linewidth=1.2, zorder=2)
        ax.plot(*path[0, :2], "o", color="white", markeredgecolor="black", markersize=5, zorder=2.1)


def goals(ax: Any, places: np.ndarray) -> None:
    style = {"color": GOAL_COLOR, "markeredgecolor": "black", "markersize": 11, "linestyle": "none"}
    ax.plot(places[:, 0], places[:, 1], "*", **style, zorder=2.2)
