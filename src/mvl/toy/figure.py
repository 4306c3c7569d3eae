"""The toy figure: distances computed in several ways, and their errors against the exact ones."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from mvl.plots import drawing
from mvl.results.geometry import ascent, downhill, jitter
from mvl.results.shortest_paths import gradient
from mvl.toy.arena import ARENA, GOAL, marched_distance, true_distance
from mvl.toy.fields import CHUNKS, train, trainers

MARCHED, STRAIGHT = "fast marching", "straight line"
"""References for the learned distances: a numerical solution, and the distance that ignores the obstacle."""


class DistanceField(NamedTuple):
    """Distances to the goal on the grid, and measures of them over the free grid points."""

    distance: np.ndarray  # (rows, columns)
    error: float
    """rms(D - d) / rms(d), where D is `distance` and d the true distance."""
    shape_error: float
    """The same after D is multiplied by the constant `factor` that minimizes it: the error of the shape alone."""
    factor: float
    ascent: float
    downhill: float
    jitter: float
    seconds: float

    def to_json(self) -> dict[str, float]:
        return {name: round(getattr(self, name), 4) for name in self._fields if name != "distance"}


def all_fields(seed: int, steps: int, report: Callable[[int, int], None] = lambda done, total: None) -> dict[str, DistanceField]:
    """Distances computed in every way, by name; `report` is called with the (done, total) parts of the training."""
    began = time.perf_counter()
    found = {MARCHED: measured(marched_distance(), began)}
    found[STRAIGHT] = measured(ARENA.straight_distance(GOAL), time.perf_counter())
    networks = trainers()
    done = 0

    def one_more() -> None:
        nonlocal done
        done += 1
        report(done, CHUNKS * len(networks))

    for name, trainer in networks.items():
        began = time.perf_counter()
        found[name] = measured(train(trainer, seed, steps, one_more), began)
    return found


def measured(distance: np.ndarray, began: float) -> DistanceField:
    """Errors against the true distance, and the geometry of minus the distance as a value; `began` is the start time."""
    seconds = time.perf_counter() - began
    true, free = true_distance(), ARENA.grid()[2]
    values = np.where(free, distance, 0.0)
    target = np.where(free, true, 0.0)
    squares = float(np.square(values).sum())
    factor = float((values * target).sum()) / squares if squares else 0.0

    def rms(array: np.ndarray) -> float:
        return float(np.sqrt(np.square(array[free]).mean()))

    return DistanceField(
        distance=distance,
        error=rms(values - target) / rms(target),
        shape_error=rms(factor * values - target) / rms(target),
        factor=factor,
        ascent=ascent(-values, free, ARENA.straight_distance(GOAL) <= ARENA.radius),
        downhill=downhill(-values, true),
        jitter=jitter(-values, free),
        seconds=seconds,
    )


def table(found: dict[str, DistanceField]) -> str:
    """The measures of every field, as text."""
    heads = ("error", "shape error", "factor", "ascent", "downhill", "jitter", "seconds")
    lines = [f"{'':<18}" + "".join(f"{head:>13}" for head in heads)]
    for name, field in found.items():
        *numbers, seconds = field[1:]
        lines.append(f"{name:<18}" + "".join(f"{number:>13.3f}" for number in numbers) + f"{seconds:>13.1f}")
    return "\n".join(lines)


def draw(found: dict[str, DistanceField], to: Path) -> None:
    """Draw contours of minus the distance, on one scale, with arrows along its gradient: the directions to move in."""
    found = {name: field for name, field in found.items() if name != STRAIGHT}
    free = ARENA.grid()[2]
    lowest = -true_distance()[free].max()
    figure = Figure(figsize=(2.5 * len(found) + 0.8, 3.1), layout="constrained")
    axes = figure.subplots(1, len(found), squeeze=False)[0]
    for ax, (name, field) in zip(axes, found.items(), strict=True):
        value = -np.where(free, field.distance, -lowest)
        filled = drawing.contours(ax, ARENA, value, np.linspace(lowest, 0, drawing.CONTOUR_LEVELS))
        drawing.arrows(ax, ARENA, gradient(value, free))
        drawing.walls(ax, ARENA)
        drawing.goals(ax, GOAL[None])
        ax.set_title(f"{name}\nerror {field.error:.1%}, shape {field.shape_error:.1%}", fontsize=10)
    bar = figure.colorbar(filled, ax=axes, shrink=0.8, ticks=np.arange(0, lowest, -0.5))
    bar.set_label("minus the distance to the star", fontsize=9)
    drawing.save(figure, to)
