"""A data card: what is in a dataset, and what looks wrong."""

import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.memory_map import fits

JUMP = 20
"""A step this many times longer than the median suggests a missing episode boundary."""


def card(dataset: Dataset, room: int | None = None) -> str:
    """Episodes, lengths, ranges, steps per dimension, and warnings, as text."""
    lengths, seen = dataset.lengths - 1, dataset.sampled
    head = [
        f"file          {dataset.source}",
        f"episodes      {len(lengths)}",
        f"transitions   {lengths.sum()} ({span(lengths)} per episode, median {int(np.median(lengths))})",
        f"training      needs {memory(dataset.bytes, room)}",
        f"step length   median {dataset.statistics.step:.4g}, longest {np.linalg.norm(seen.steps, axis=1).max():.4g}",
    ]
    part = [] if seen is dataset else [f"(of {len(seen.ends)} evenly spaced episodes)"]
    warnings = [f"  ! {line}" for line in looks_wrong(seen)] or ["  nothing"]
    return "\n".join([*head, "", *part, *_columns(seen), "", "looks wrong:", *warnings])


def memory(needed: int, room: int | None) -> str:
    """How many bytes of the device's memory the data takes, and what happens if there are not enough."""
    size = f"{needed} bytes ({needed / 1e6:.1f} MB) for the data"
    if room is None or fits(needed, room):
        return size
    return f"{size}, more than half of the {room / 1e6:.0f} MB free: it will be read from disk while training"


def span(values: np.ndarray) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{low}" if low == high else f"{low} to {high}"


def _columns(dataset: Dataset) -> list[str]:
    """One line per dimension of observations and actions."""
    step = np.abs(dataset.steps).mean(axis=0)
    lines = [f"{'':<16}{'lowest':>10}{'highest':>10}{'mean':>10}{'spread':>10}{'mean step':>11}"]
    for kind, array, steps in (("observation", dataset.observations, step), ("action", dataset.actions, None)):
        for i in range(array.shape[1]):
            column = array[:, i]
            numbers = "".join(f"{value:>10.4g}" for value in (column.min(), column.max(), column.mean(), column.std()))
            lines.append(f"{kind + ' ' + str(i):<16}{numbers}" + (f"{steps[i]:>11.4g}" if steps is not None else ""))
    return lines


def looks_wrong(dataset: Dataset) -> list[str]:
    """Things that are allowed, but rarely meant."""
    found = []
    for kind, array in (("observation", dataset.observations), ("action", dataset.actions)):
        flat = np.flatnonzero(array.min(axis=0) == array.max(axis=0))
        if len(flat):
            found.append(f"{kind} dimensions that never change: {', '.join(map(str, flat))}")
    length = np.linalg.norm(dataset.steps, axis=1)
    jumps = np.flatnonzero(length > JUMP * dataset.statistics.step)
    if len(jumps):
        first = dataset.transitions[jumps[0]]
        found.append(f"{len(jumps)} steps over {JUMP} times the median, first at row {first}: an episode end missing?")
    still = (length == 0).mean()
    if still > 0.05:
        found.append(f"{still:.0%} of the transitions do not move")
    return found
