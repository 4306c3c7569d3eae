"""Charts as SVG inside a page: its style sheet gives them their colors, so they follow its theme."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from mvl.results.statistics import Estimate, estimate

WIDTH, HEIGHT = 360, 216
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 30
ANY = (-np.inf, np.inf)


class Series(NamedTuple):
    """One line of a chart: a mean over seeds."""

    label: str
    style: str
    """Class of its color: c0, c1, ..."""
    steps: np.ndarray  # (times,)
    values: np.ndarray  # (seeds, times)


def curves(title: str, series: Sequence[Series], within: tuple[float, float] = ANY) -> str:
    """Means over seeds with 95 % intervals, as a figure; `within` is the range that values can have at all."""
    lines = [(one, *_band(one.values, within)) for one in series]
    reach = within if np.isfinite(within).all() else _reach([one.values.ravel() for one in series])
    last = max(float(one.steps[-1]) for one in series)
    x = lambda step: LEFT + (WIDTH - LEFT - RIGHT) * step / last
    y = lambda value: TOP + (HEIGHT - TOP - BOTTOM) * (reach[1] - np.clip(value, *reach)) / (reach[1] - reach[0])
    drawn = [_axes(reach, last, x, y)]
    for one, mean, low, high in lines:
        across = x(one.steps)
        if len(one.values) > 1:
            around = np.concatenate([np.stack([across, y(high)], 1), np.stack([across, y(low)], 1)[::-1]])
            drawn.append(f'<polygon class="band {one.style}" points="{_points(around)}"/>')
        drawn.append(f'<polyline class="line {one.style}" points="{_points(np.stack([across, y(mean)], 1))}"/>')
        drawn.append(f'<circle class="dot {one.style}" cx="{across[-1]:.1f}" cy="{y(mean[-1]):.1f}" r="2.5"/>')
    told = "; ".join(f"{one.label} ends at {mean[-1]:.3g}" for one, mean, _, _ in lines)
    return (
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(f"{title} over steps: {told}")}">'
        f"{''.join(drawn)}</svg></figure>"
    )


def _band(values: np.ndarray, within: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, low and high at every time."""
    found = np.array([estimate(column, within) for column in values.T])
    mean, low, high = found.T
    return (mean, low, high) if len(values) > 1 else (mean, mean, mean)


def _reach(columns: list[np.ndarray]) -> tuple[float, float]:
    every = np.concatenate(columns)
    low, high = float(every.min()), float(every.max())  # of the seeds: the interval of two may be far wider, and is cut
    room = 0.05 * (high - low) or abs(high) or 1.0
    return low - room, high + room


def _axes(reach: tuple[float, float], last: float, x, y) -> str:
    """Faint lines with numbers; steps in thousands."""
    drawn = []
    for value in MaxNLocator(4).tick_values(*reach):
        if reach[0] <= value <= reach[1]:
            at = f"{y(value):.1f}"
            drawn.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
            drawn.append(f'<text x="{LEFT - 6}" y="{at}" dy="0.35em" text-anchor="end">{value:.4g}</text>')
    for step in MaxNLocator(4, integer=True).tick_values(0, last):
        if 0 <= step <= last:
            shown = f"{step / 1000:g}k" if last >= 1000 and step else f"{step:g}"
            drawn.append(f'<text x="{x(step):.1f}" y="{HEIGHT - 10}" text-anchor="middle">{shown}</text>')
    return "".join(drawn)


def _points(pairs: np.ndarray) -> str:
    return " ".join(f"{across:.1f},{down:.1f}" for across, down in pairs)


def mark(result: Estimate, interval: bool, paper: float | None) -> str:
    """A success on the scale from 0 to 1: its interval and mean, and the paper's as a diamond. The numbers stand beside it."""
    x = lambda value: 6 + 108 * value
    drawn = [f'<line class="grid" x1="{x(0)}" x2="{x(1)}" y1="8" y2="8"/>']
    if interval:
        drawn.append(f'<line class="whisker" x1="{x(result.low):.1f}" x2="{x(result.high):.1f}" y1="8" y2="8"/>')
    if paper is not None:
        drawn.append(f'<path class="paper" d="M{x(paper):.1f} 3l5 5l-5 5l-5 -5z"/>')
    drawn.append(f'<circle class="mean" cx="{x(result.mean):.1f}" cy="8" r="4"/>')
    return f'<svg class="mark" viewBox="0 0 120 16" aria-hidden="true">{"".join(drawn)}</svg>'
