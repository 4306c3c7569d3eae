"""Charts as SVG in an HTML page, whose style sheet sets their colors for the light and dark themes."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from mvl.results.statistics import Estimate, estimate

WIDTH, HEIGHT = 360, 216
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 30
UNBOUNDED = (-np.inf, np.inf)
"""Range of a quantity that can have any value."""


Scale = Callable[[Any], Any]
"""Converts steps or values, as numbers or arrays, to coordinates of the chart."""


class Series(NamedTuple):
    """One line of a chart: a quantity over training steps, for several seeds."""

    label: str
    style: str
    """Class of the style sheet that sets its color."""
    steps: np.ndarray  # (times,)
    values: np.ndarray  # (seeds, times)


def curves(title: str, series: Sequence[Series], within: tuple[float, float] = UNBOUNDED) -> str:
    """A figure of means over seeds with 95 % intervals; `within` is the range of values that are possible."""
    lines = [(one, *_band(one.values, within)) for one in series]
    bounds = within if np.isfinite(within).all() else _bounds([one.values.ravel() for one in series])
    last = max(float(one.steps[-1]) for one in series)
    x: Scale = lambda step: LEFT + (WIDTH - LEFT - RIGHT) * step / last
    y: Scale = lambda value: TOP + (HEIGHT - TOP - BOTTOM) * (bounds[1] - np.clip(value, *bounds)) / (bounds[1] - bounds[0])
    drawn = [_axes(bounds, last, x, y)]
    for one, mean, low, high in lines:
        xs = x(one.steps)
        if len(one.values) > 1:
            outline = np.concatenate([np.stack([xs, y(high)], 1), np.stack([xs, y(low)], 1)[::-1]])
            drawn.append(f'<polygon class="band {one.style}" points="{_points(outline)}"/>')
        drawn.append(f'<polyline class="line {one.style}" points="{_points(np.stack([xs, y(mean)], 1))}"/>')
        drawn.append(f'<circle class="dot {one.style}" cx="{xs[-1]:.1f}" cy="{y(mean[-1]):.1f}" r="2.5"/>')
    description = "; ".join(f"{one.label} ends at {mean[-1]:.3g}" for one, mean, _, _ in lines)
    return (
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(f"{title} over steps: {description}")}">'
        f"{''.join(drawn)}</svg></figure>"
    )


def _band(values: np.ndarray, within: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and both ends of its interval at every step, for values (seeds, times); with one seed all are the mean."""
    found = np.array([estimate(column, within) for column in values.T])
    mean, low, high = found.T
    return (mean, low, high) if len(values) > 1 else (mean, mean, mean)


def _bounds(columns: list[np.ndarray]) -> tuple[float, float]:
    """Range of the y axis: that of all seeds, since the interval of two seeds may be far wider (it is cut), and a margin."""
    values = np.concatenate(columns)
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) or abs(high) or 1.0
    return low - margin, high + margin


def _axes(bounds: tuple[float, float], last: float, x: Scale, y: Scale) -> str:
    """Grid lines and numbers of both axes; steps in thousands."""
    drawn = []
    for value in MaxNLocator(4).tick_values(*bounds):
        if bounds[0] <= value <= bounds[1]:
            at = f"{y(value):.1f}"
            drawn.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
            drawn.append(f'<text x="{LEFT - 6}" y="{at}" dy="0.35em" text-anchor="end">{value:.4g}</text>')
    for step in MaxNLocator(4, integer=True).tick_values(0, last):
        if 0 <= step <= last:
            shown = f"{step / 1000:g}k" if last >= 1000 and step else f"{step:g}"
            drawn.append(f'<text x="{x(step):.1f}" y="{HEIGHT - 10}" text-anchor="middle">{shown}</text>')
    return "".join(drawn)


def _points(pairs: np.ndarray) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


def success_mark(result: Estimate, interval: bool, paper: float | None) -> str:
    """A small chart of one success rate from 0 to 1: mean and interval, and the paper's mean as a diamond."""
    x: Scale = lambda value: 6 + 108 * value
    drawn = [f'<line class="grid" x1="{x(0)}" x2="{x(1)}" y1="8" y2="8"/>']
    if interval:
        drawn.append(f'<line class="whisker" x1="{x(result.low):.1f}" x2="{x(result.high):.1f}" y1="8" y2="8"/>')
    if paper is not None:
        drawn.append(f'<path class="paper" d="M{x(paper):.1f} 3l5 5l-5 5l-5 -5z"/>')
    drawn.append(f'<circle class="mean" cx="{x(result.mean):.1f}" cy="8" r="4"/>')
    return f'<svg class="mark" viewBox="0 0 120 16" aria-hidden="true">{"".join(drawn)}</svg>'
