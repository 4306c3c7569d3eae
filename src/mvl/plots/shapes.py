"""A picture of the shapes of several values, side by side: what a regularizer does to a value, and what is left of its signal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mvl.plots import drawing
from mvl.plots.curves import labels
from mvl.plots.drawing import COLORS
from mvl.results.shape import Shape, shape_of
from mvl.runs import metrics
from mvl.runs.folder import RunFolder

TERMS = {"regularizer/active": "-", "regularizer/slope": "--"}
"""Metrics of regularizers, and how they are drawn: the share of violated bounds, and the mean slope."""
MANY = 40
"""With more dimensions, only every few are named."""


def shapes(runs: Sequence[Path], to: Path) -> None:
    """Four panels: slopes per dimension, value by distance, clarity of the advantage, and the regularizer during training."""
    opened = [(path, RunFolder.open(path)[1]) for path in runs]
    found = [shape_of(path) for path in runs]
    figure = Figure(figsize=(11, 6.6), layout="constrained")
    slopes, values, clarity, terms = figure.subplots(2, 2).flat
    for number, (label, shape, path) in enumerate(zip(labels(opened), found, runs, strict=True)):
        color = COLORS[number % len(COLORS)]
        _slopes(slopes, shape, (number + 0.5) / len(runs) - 0.5, 0.8 / len(runs), color)
        values.plot(shape.distances, shape.values[:, 1], "o-", color=color, markersize=4, label=label)
        values.fill_between(shape.distances, shape.values[:, 0], shape.values[:, 2], color=color, alpha=0.18, linewidth=0)
        clarity.plot(shape.distances, shape.clarity, "o-", color=color, markersize=4)
        _terms(terms, path, color)
    slopes.set(
        yscale="log", xlabel="dimension of the state", ylabel="|dV/ds|, quartiles", title="slopes at states of held-out data"
    )
    values.set(xscale="log", xlabel="steps to the goal", ylabel="V(s, g), quartiles", title="value along held-out episodes")
    values.legend(fontsize=9)
    clarity.axhline(0, color="gray", linewidth=0.8)
    clarity.set(
        xscale="log", xlabel="steps to the goal", ylabel="mean / std of V(s', g) - V(s, g)", title="clarity of the advantage"
    )
    terms.set(
        xlabel="training steps (thousands)", title="the regularizer during training: active share (line), mean slope (dashed)"
    )
    for ax in (slopes, values, clarity, terms):
        ax.grid(alpha=0.3)
        ax.title.set_fontsize(10)
    figure.suptitle(", ".join(sorted({description.task.label for _, description in opened})), fontsize=11)
    drawing.save(figure, to)


def _slopes(ax: Any, shape: Shape, offset: float, width: float, color: str) -> None:
    """A bar from quartile to quartile for each dimension, with a mark at the median."""
    low, middle, high = np.quantile(np.maximum(shape.slopes, 1e-6), (0.25, 0.5, 0.75), axis=0)
    places = np.arange(len(middle))
    ax.bar(places + offset, high - low, width, bottom=low, color=color, alpha=0.5, linewidth=0)
    ax.plot(places + offset, middle, "_", color=color, markersize=max(3, 160 * width / len(places)))
    ax.set_xticks(places[:: 1 + len(places) // MANY])


def _terms(ax: Any, path: Path, color: str) -> None:
    rows = metrics.read(RunFolder(path).metrics_file)
    for name, style in TERMS.items():
        known = [(row["step"] / 1000, row[name]) for row in rows if name in row]
        if known:
            ax.plot(*zip(*known, strict=True), style, color=color, linewidth=1.2)
