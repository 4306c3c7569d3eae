"""The strokes all pictures share: contours, arrows, walls and paths, in colors that everyone can tell apart."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from mvl.errors import UsageError
from mvl.files import atomic, new_file
from mvl.tasks.maze import POINTS_PER_CELL, Maze

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's."""
PATH_COLOR, GOAL_COLOR, WALL_GRAY = COLORS[1], "#f0e442", 0.25
SUFFIXES = (".png", ".svg")
DOTS = 110
"""Per inch: readable in print, and the largest picture stays below 300 kB. SVG has no such limit."""
LEVELS = 21
ARROWS = POINTS_PER_CELL // 2
"""Grid points from one arrow to the next."""


def new_picture(to: Path, overwrite: bool) -> Path:
    """A picture's name, checked before anything is computed for it."""
    if to.suffix not in SUFFIXES:
        raise UsageError(f"a picture's name ends in {' or '.join(SUFFIXES)}; '{to}' does not.")
    return new_file(to, overwrite)


def save(figure: Figure, to: Path) -> None:
    """As PNG or SVG, by its name; the same picture gives the same file."""
    options: dict[str, Any] = {"metadata": {"Date": None}} if to.suffix == ".svg" else {"pil_kwargs": {"optimize": True}}
    with matplotlib.rc_context({"svg.hashsalt": "mvl"}), atomic(to) as partial:
        figure.savefig(partial, dpi=DOTS, **options)


def contours(ax: Any, maze: Maze, values: np.ndarray, levels: np.ndarray | None = None) -> Any:
    """Filled contours, by default over the field's own range in free space."""
    x, y, free = maze.grid()
    low, high = values[free].min(), values[free].max()
    if levels is None:
        levels = np.linspace(low, high if high > low else low + 1, LEVELS)
    filled = ax.contourf(x, y, values, levels=levels, cmap="viridis", extend="both")
    ax.contour(x, y, values, levels=levels, colors="white", linewidths=0.3, alpha=0.6, zorder=1.2)
    return filled


def arrows(ax: Any, maze: Maze, gradient: np.ndarray) -> None:
    """Where a field rises, as arrows of one length; none where it does not."""
    x, y, free = maze.grid()
    size = np.linalg.norm(gradient, axis=0)
    chosen = np.zeros(free.shape, bool)
    chosen[ARROWS // 2 :: ARROWS, ARROWS // 2 :: ARROWS] = True
    rows, columns = np.nonzero(chosen & free & (size > 0))
    ahead = 0.7 * ARROWS * maze.spacing * gradient[:, rows, columns] / size[rows, columns]
    thick = 0.06 * ARROWS * maze.spacing
    ax.quiver(
        x[columns], y[rows], *ahead, angles="xy", units="xy", scale_units="xy", scale=1, pivot="mid", width=thick,
        headwidth=5, headlength=5, headaxislength=4.5, color="white", edgecolor="black", linewidth=0.2, zorder=1.4,
    )  # fmt: skip


def walls(ax: Any, maze: Maze) -> None:
    """The walls, and a frame that fits them."""
    shown = np.where(maze.walls, WALL_GRAY, np.nan)
    ax.imshow(shown, extent=maze.extent, origin="lower", cmap="gray", vmin=0, vmax=1, interpolation="nearest", zorder=1.5)
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=maze.extent[:2], ylim=maze.extent[2:])


def paths(ax: Any, found: list[np.ndarray]) -> None:
    """Played episodes, each with its start."""
    for path in found:
        ax.plot(path[:, 0], path[:, 1], color="white", linewidth=2.2, zorder=2)
        ax.plot(path[:, 0], path[:, 1], color=PATH_COLOR, linewidth=1.2, zorder=2)
        ax.plot(*path[0, :2], "o", color="white", markeredgecolor="black", markersize=5, zorder=2.1)


def goals(ax: Any, places: np.ndarray) -> None:
    style = {"color": GOAL_COLOR, "markeredgecolor": "black", "markersize": 11, "linestyle": "none"}
    ax.plot(places[:, 0], places[:, 1], "*", **style, zorder=2.2)
