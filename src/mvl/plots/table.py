"""A table as a picture: for each cell our seeds, their mean and interval, and below them the paper's mean and std."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mvl.results.results import Result
from mvl.studies.plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS_PER_LINE = 4
"""Panels beside each other, one for each row of the table."""
OURS, PAPER, ABSENT = "#0072b2", "#e69f00", "#888888"
OFFSET = 0.17
"""Distance of our mark and of the paper's from the middle of a line, in line heights."""
MAX_LABEL = 24
"""Characters of a column's name that fit on one line; of a longer one, a recipe with settings, each setting gets a line."""


def write(plan: Plan, found: Sequence[Result], folder: Path) -> Path:
    """Write NAME.png, with a panel for each row of the table and a line for each of its columns; returns its path."""
    from matplotlib.figure import Figure

    from mvl.plots import drawing

    rows: dict[tuple[str, str], list[Result]] = {}
    for result in found:
        rows.setdefault((result.cell.row, result.cell.part), []).append(result)
    columns = min(PANELS_PER_LINE, len(rows))
    lines = -(-len(rows) // columns)
    longest = max(map(len, rows.values()))
    figure = Figure(figsize=(1.2 + 4.6 * columns, 0.8 + lines * (0.7 + 0.32 * longest)), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for panel, ((row, part), results) in zip(panels, rows.items(), strict=False):
        _panel(panel, results)
        panel.set_title(row if part == "overall" else f"{row} {part}", fontsize=10)
    for panel in panels[len(rows) :]:
        panel.set_axis_off()
    panels[0].plot([], [], "o-", color=OURS, label="ours: mean, 95 % interval, seeds")
    panels[0].plot([], [], "D-", color=PAPER, label="the paper: mean ± std")
    figure.legend(loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    path = folder / f"{plan.name}.png"
    drawing.save(figure, path)
    return path


def _panel(ax: "Axes", results: Sequence[Result]) -> None:
    """Draw the results of one row of the table."""
    for line, result in enumerate(results):
        if result.estimate is not None:
            ax.plot(result.values, [line - OFFSET] * len(result.values), "o", color=OURS, markersize=3, alpha=0.45)
            ax.plot(result.estimate.mean, line - OFFSET, "o", color=OURS, markersize=6)
            if len(result.seeds) > 1:
                ax.plot(result.estimate[1:], [line - OFFSET] * 2, color=OURS, linewidth=1.5)
        if result.cell.paper is not None:
            mean, std = result.cell.paper.mean, result.cell.paper.std
            ax.plot(mean, line + OFFSET, "D", color=PAPER, markersize=5)
            ax.plot([max(0, mean - std), min(100, mean + std)], [line + OFFSET] * 2, color=PAPER, linewidth=1.5)
    names = [result.cell.column if result.seeds else f"{result.cell.column} (not run)" for result in results]
    ax.set_yticks(
        range(len(results)), [name.replace("+", "\n+") if len(name) > MAX_LABEL else name for name in names], fontsize=8
    )
    for label, result in zip(ax.get_yticklabels(), results, strict=True):
        label.set_color("black" if result.seeds else ABSENT)
    what = "success" if all(result.simulated for result in results) else "goals reached in a learned model"
    ax.set(xlim=(-3, 103), ylim=(len(results) - 0.5, -0.5), xlabel=f"{what}, percent")
    ax.grid(axis="x", alpha=0.3)
