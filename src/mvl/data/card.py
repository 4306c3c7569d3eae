"""A data card: a text summary of a dataset, with warnings."""

import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.memory_map import fits

JUMP = 20
"""A step this many times longer than the median suggests a missing episode boundary."""


def card(dataset: Dataset, free: int | None = None) -> str:
    """Episodes, lengths, ranges, steps per dimension, and warnings, as text; `free` is the device's free memory in bytes."""
    lengths, sample = dataset.lengths - 1, dataset.sampled
    head = [
        f"file          {dataset.source}",
        f"episodes      {len(lengths)}",
        f"transitions   {lengths.sum()} ({span(lengths)} per episode, median {int(np.median(lengths))})",
        f"training      needs {memory(dataset.bytes, free)}",
        f"step length   median {dataset.statistics.step:.4g}, longest {np.linalg.norm(sample.steps, axis=1).max():.4g}",
    ]
    part = [] if sample is dataset else [f"(of {len(sample.ends)} evenly spaced episodes)"]
    warnings = [f"  ! {line}" for line in looks_wrong(sample)] or ["  nothing"]
    return "\n".join([*head, "", *part, *_columns(sample), "", "looks wrong:", *warnings])


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


def _columns(dataset: Dataset) -> list[str]:
    """One line per dimension of observations and actions."""
    step = np.abs(dataset.steps).mean(axis=0)
    lines = [f"{'':<16}{'lowest':>10}{'highest':>10}{'mean':>10}{'std':>10}{'mean step':>11}"]
    for kind, array, steps in (("observation", dataset.observations, step), ("action", dataset.actions, None)):
        for i in range(array.shape[1]):
            column = array[:, i]
            numbers = "".join(f"{value:>10.4g}" for value in (column.min(), column.max(), column.mean(), column.std()))
            lines.append(f"{kind + ' ' + str(i):<16}{numbers}" + (f"{steps[i]:>11.4g}" if steps is not None else ""))
    return lines


def looks_wrong(dataset: Dataset) -> list[str]:
    """Warnings about data that is valid but probably not intended."""
    found = []
    for kind, array in (("observation", dataset.observations), ("action", dataset.actions)):
        constant = np.flatnonzero(array.min(axis=0) == array.max(axis=0))
        if len(constant):
            found.append(f"{kind} dimensions that never change: {', '.join(map(str, constant))}")
    length = np.linalg.norm(dataset.steps, axis=1)
    jumps = np.flatnonzero(length > JUMP * dataset.statistics.step)
    if len(jumps):
        first = dataset.transitions[jumps[0]]
        found.append(f"{len(jumps)} steps over {JUMP} times the median, first at row {first}: an episode end missing?")
    still = (length == 0).mean()
    if still > 0.05:
        found.append(f"{still:.0%} of the transitions do not move")
    return found
