"""A data card: a text summary of a dataset, with warnings."""

from collections.abc import Iterator, Sequence

import numpy as np

from mvl.data.check.findings import looks_wrong
from mvl.data.check.subject import labels
from mvl.data.dataset import Dataset
from mvl.data.memory_map import fits
from mvl.data.signals import Signal, dimension_names

TOGETHER = 100
"""Dimensions of a column from which they share one line."""


def card(dataset: Dataset, free: int | None = None, more: Sequence[str] = ()) -> str:
    """Episodes, lengths, rate, ranges, steps per dimension, and warnings, as text.

    `free` is the device's free memory in bytes, `more` has warnings about what is not in the dataset any more.
    """
    lengths, sample = dataset.lengths - 1, dataset.sampled
    steps = np.linalg.norm(sample.steps, axis=1)
    head = [
        f"file          {dataset.source}",
        f"episodes      {len(lengths)}",
        f"transitions   {lengths.sum()} ({span(lengths)} per episode, median {int(np.median(lengths))})",
        *([f"rate          {dataset.signals.hz:g} Hz"] if dataset.signals and dataset.signals.hz else []),
        f"training      needs {memory(dataset.bytes, free)}",
        f"step length   median {np.median(steps):.4g}, longest {steps.max():.4g}",
    ]
    part = [] if sample is dataset else [f"(of {len(sample.ends)} evenly spaced episodes)"]
    warnings = [f"  ! {line}" for line in (*more, *looks_wrong(sample))] or ["  nothing"]
    return "\n".join([*head, "", *part, *_table(sample), "", "looks wrong:", *warnings])


def memory(needed: int, free: int | None) -> str:
    """Device memory that the data needs, and what happens if there is not enough, as text."""
    size = f"{needed} bytes ({needed / 1e6:.1f} MB) for the data"
    if free is None or fits(needed, free):
        return size
    return f"{size}, more than half of the {free / 1e6:.0f} MB free: it will be read from disk while training"


def span(values: np.ndarray) -> str:
    """The range of integers as text: `3 to 7`, or `3` if all are equal."""
    low, high = int(values.min()), int(values.max())
    return f"{low}" if low == high else f"{low} to {high}"


def _table(dataset: Dataset) -> list[str]:
    """Lines with the ranges of all dimensions, in the units of the source."""
    rows = [*_rows(dataset, "observations"), *_rows(dataset, "actions")]
    width = max(16, max(len(name) for name, _ in rows) + 2)
    head = f"{'':<{width}}{'lowest':>11}{'highest':>11}{'mean':>11}{'std':>11}{'mean step':>11}"
    return [head, *(f"{name:<{width}}{text}" for name, text in rows)]


def _rows(dataset: Dataset, kind: str) -> Iterator[tuple[str, str]]:
    """A name, and numbers as text, for each dimension; many dimensions of one column are taken together."""
    signals: tuple[Signal, ...] = getattr(dataset.signals, kind) if dataset.signals else ()
    names = dimension_names(signals) or labels(dataset, kind)
    array = getattr(dataset, kind)
    groups = [len(signal.labels) for signal in signals] or [len(names)]
    first = 0
    for i, size in enumerate(groups):
        if signals and signals[i].levels:
            yield names[first], f"  one of {', '.join(f'{level:g}' for level in signals[i].levels)}"
        elif size > TOGETHER:
            places = slice(first, first + size)
            yield f"{names[first]} ... {names[first + size - 1]}", _numbers(dataset, kind, array[:, places], places)
        else:
            for place in range(first, first + size):
                yield names[place], _numbers(dataset, kind, array[:, place : place + 1], slice(place, place + 1))
        first += size


def _numbers(dataset: Dataset, kind: str, values: np.ndarray, places: slice) -> str:
    """Lowest, highest, mean and deviation of some dimensions, and the mean step of observations, as text."""
    scale, shift = _units(dataset, kind, places)
    low, high = (limit * scale + shift for limit in (values.min(axis=0), values.max(axis=0)))
    mean, std = values.mean(axis=0, dtype=np.float64) * scale + shift, values.std(axis=0, dtype=np.float64) * scale
    shown = [low.min(), high.max(), mean.mean(), std.mean()]
    steps = f"{np.abs(dataset.steps[:, places]).mean():>11.4g}" if kind == "observations" else ""
    return "".join(f"{number:>11.4g}" for number in shown) + steps


def _units(dataset: Dataset, kind: str, places: slice) -> tuple[np.ndarray, np.ndarray]:
    """What stored numbers of some dimensions are multiplied by, and what is added, to get those of the source."""
    size = len(range(*places.indices(getattr(dataset, kind).shape[1])))
    if kind == "actions" and dataset.action_range is not None:
        low, high = dataset.action_range[:, places].astype(np.float64)
        return (high - low) / 2, (high + low) / 2
    shifted = kind == "observations" and dataset.origin is not None
    return np.ones(size), dataset.origin[places] if shifted and dataset.origin is not None else np.zeros(size)
