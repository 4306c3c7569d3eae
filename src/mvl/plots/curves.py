"""Learning curves: success over training, with intervals over seeds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from mvl.errors import UsageError
from mvl.plots import drawing
from mvl.results.statistics import Estimate, estimate
from mvl.runs import metrics
from mvl.runs.folder import Description, RunFolder

MARKERS = "osD^vXP"
STYLES = ("-", "--", "-.", ":")


class Curve(NamedTuple):
    label: str
    steps: list[int]
    means: list[Estimate]
    """Mean over seeds with its interval, at each step."""
    seeds: int


def curves(runs: list[Path], to: Path) -> None:
    """Draw the success of each run at its evaluations: the mean over seeds, with its 95 % interval (Student's t) shaded."""
    opened = [(path, *RunFolder.open(path)) for path in runs]
    names = labels([(path, description) for path, _, description in opened])
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    ax = figure.subplots()
    for number, (label, (path, folder, _)) in enumerate(zip(names, opened, strict=True)):
        curve = read(label, path, folder)
        color = drawing.COLORS[number % len(drawing.COLORS)]
        line: dict[str, Any] = {
            "color": color,
            "linestyle": STYLES[number % len(STYLES)],
            "marker": MARKERS[number % len(MARKERS)],
        }
        note = f"{curve.seeds} seeds" if curve.seeds > 1 else "1 seed, no interval"
        thousands = np.array(curve.steps) / 1000
        ax.plot(thousands, [m.mean for m in curve.means], **line, markersize=4, linewidth=1.6, label=f"{label} ({note})")
        if curve.seeds > 1:
            band = [m.low for m in curve.means], [m.high for m in curve.means]
            ax.fill_between(thousands, *band, color=color, alpha=0.18, linewidth=0)
    ax.set(xlabel="training steps (thousands)", ylabel="success, mean over tasks", ylim=(-0.02, 1.02))
    ax.grid(alpha=0.3)
    ax.legend(fontsize=9)
    ax.set_title(", ".join(sorted({description.task.label for _, _, description in opened})), fontsize=10)
    drawing.save(figure, to)


def read(label: str, path: Path, folder: RunFolder) -> Curve:
    """The success of a run over its training steps."""
    rows = [row for row in metrics.read(folder.evaluations_file) if "overall" in row]
    if not rows:
        raise UsageError(f"{path} has no evaluated success to draw; curves need a run that was evaluated in its environment.")
    steps = sorted({row["step"] for row in rows})
    means = [estimate([row["overall"] for row in rows if row["step"] == step]) for step in steps]
    return Curve(label, steps, means, len({row["seed"] for row in rows}))


def labels(opened: Sequence[tuple[Path, Description]]) -> list[str]:
    """The names of the recipes, or of the run folders if two runs have the same recipe."""
    recipes = [description.experiment.recipe_name for _, description in opened]
    return recipes if len(set(recipes)) == len(recipes) else [path.resolve().name for path, _ in opened]
