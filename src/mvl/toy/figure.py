"""The toy figure: every field beside the exact one, and how far each is off."""

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
"""The exact solution, and what is known without looking at the obstacle: the yardsticks for what is learned."""


class Found(NamedTuple):
    """A field of distances to the goal, and its figures over the free grid points."""

    distance: np.ndarray  # (rows, columns)
    error: float
    """rms(D - d) / rms(d), d the true distance."""
    shape_error: float
    """The same after D is multiplied by the one factor that makes it smallest: what is wrong with the shape alone."""
    factor: float
    ascent: float
    downhill: float
    jitter: float
    seconds: float

    def to_json(self) -> dict[str, float]:
        return {name: round(getattr(self, name), 4) for name in self._fields if name != "distance"}


def all_fields(seed: int, steps: int, told: Callable[[int, int], None] = lambda done, total: None) -> dict[str, Found]:
    """Every way to the field, by name; `told` hears how much of the training is done."""
    began = time.perf_counter()
    found = {MARCHED: judged(marched_distance(), began), STRAIGHT: judged(ARENA.away_from(GOAL), time.perf_counter())}
    made = trainers()
    done = 0

    def one_more() -> None:
        nonlocal done
        done += 1
        told(done, CHUNKS * len(made))

    for name, trainer in made.items():
        began = time.perf_counter()
        found[name] = judged(train(trainer, seed, steps, one_more), began)
    return found


def judged(distance: np.ndarray, began: float) -> Found:
    """A field against the true distance, and its geometry as a value (minus the distance)."""
    seconds = time.perf_counter() - began
    true, free = true_distance(), ARENA.grid()[2]
    size = lambda field: float(np.sqrt(np.square(field[free]).mean()))
    held = np.where(free, distance, 0.0)
    target = np.where(free, true, 0.0)
    squares = float(np.square(held).sum())
    factor = float((held * target).sum()) / squares if squares else 0.0
    return Found(
        distance=distance,
        error=size(held - target) / size(target),
        shape_error=size(factor * held - target) / size(target),
        factor=factor,
        ascent=ascent(-held, free, ARENA.away_from(GOAL) <= ARENA.radius),
        downhill=downhill(-held, true),
        jitter=jitter(-held, free),
        seconds=seconds,
    )


def table(found: dict[str, Found]) -> str:
    heads = ("error", "shape error", "factor", "ascent", "downhill", "jitter", "seconds")
    lines = [f"{'':<18}" + "".join(f"{head:>13}" for head in heads)]
    for name, field in found.items():
        *numbers, seconds = field[1:]
        lines.append(f"{name:<18}" + "".join(f"{number:>13.3f}" for number in numbers) + f"{seconds:>13.1f}")
    return "\n".join(lines)


def draw(found: dict[str, Found], to: Path) -> None:
    """Contours of minus the distance, on one scale, with arrows up its gradient: the way each field would lead."""
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
