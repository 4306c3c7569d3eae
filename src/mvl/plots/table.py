"""A table as a picture: every seed, their mean and interval, and the paper's mean and deviation below."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mvl.results.results import Result
from mvl.studies.plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS = 4
"""Rows of the table beside each other."""
OURS, PAPER, ABSENT = "#0072b2", "#e69f00", "#888888"
APART = 0.17
"""Of a line's height, from its middle to ours and to the paper's."""
LONG = 24
"""Letters of a column's name that fit on one line; a longer one is a recipe with settings, and each gets its own."""


def write(plan: Plan, found: Sequence[Result], folder: Path) -> Path:
    """NAME.png, anew: a panel for each row of the table, a line for each of its columns."""
    from matplotlib.figure import Figure

    from mvl.plots import drawing

    rows: dict[tuple[str, str], list[Result]] = {}
    for result in found:
        rows.setdefault((result.cell.row, result.cell.part), []).append(result)
    across = min(ACROSS, len(rows))
    down = -(-len(rows) // across)
    longest = max(map(len, rows.values()))
    figure = Figure(figsize=(1.2 + 4.6 * across, 0.8 + down * (0.7 + 0.32 * longest)), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
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
    for line, result in enumerate(results):
        if result.estimate is not None:
            ax.plot(result.values, [line - APART] * len(result.values), "o", color=OURS, markersize=3, alpha=0.45)
            ax.plot(result.estimate.mean, line - APART, "o", color=OURS, markersize=6)
            if len(result.seeds) > 1:
                ax.plot(result.estimate[1:], [line - APART] * 2, color=OURS, linewidth=1.5)
        if result.cell.paper is not None:
            mean, std = result.cell.paper.mean, result.cell.paper.std
            ax.plot(mean, line + APART, "D", color=PAPER, markersize=5)
            ax.plot([max(0, mean - std), min(100, mean + std)], [line + APART] * 2, color=PAPER, linewidth=1.5)
    names = [result.cell.column if result.seeds else f"{result.cell.column} (not run)" for result in results]
    ax.set_yticks(range(len(results)), [name.replace("+", "\n+") if len(name) > LONG else name for name in names], fontsize=8)
    for label, result in zip(ax.get_yticklabels(), results, strict=True):
        label.set_color("black" if result.seeds else ABSENT)
    ax.set(xlim=(-3, 103), ylim=(len(results) - 0.5, -0.5), xlabel="success, percent")
    ax.grid(axis="x", alpha=0.3)
