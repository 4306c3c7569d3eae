"""Stratified bootstrap intervals for statistics over seeds and tasks."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mvl.errors import UsageError

BATCH = 500
"""Resamples that are in memory at the same time."""


class Interval(NamedTuple):
    """A statistic and its bootstrap interval."""

    value: float
    """The statistic of the scores themselves."""
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def bootstrap_interval(
    statistic: Callable[..., np.ndarray],
    *scores: np.ndarray,
    generator: np.random.Generator,
    resamples: int = 5000,
    level: float = 0.95,
) -> Interval:
    """The percentile interval of a statistic when the seeds of each task are resampled with replacement.

    Each array of scores is (seeds, tasks); several of them (as for `probability_of_improvement`) have the same tasks and are
    resampled independently. The interval covers other seeds on the same tasks, not other tasks.
    """
    checked = [np.asarray(array, float) for array in scores]
    _check(checked)
    counts = [min(BATCH, resamples - done) for done in range(0, resamples, BATCH)]
    found = [statistic(*(resampled(array, count, generator) for array in checked)) for count in counts]
    low, high = np.quantile(np.concatenate(found), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(statistic(*checked)), float(low), float(high))


def resampled(scores: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Scores with the seeds of each task resampled with replacement: (seeds, tasks) -> (count, seeds, tasks)."""
    seeds, tasks = scores.shape
    return scores[generator.integers(seeds, size=(count, seeds, tasks)), np.arange(tasks)]


def _check(scores: list[np.ndarray]) -> None:
    for array in scores:
        if array.ndim != 2 or 0 in array.shape:
            raise UsageError(f"scores have shape {array.shape}; they must have shape (seeds, tasks), with at least one of each.")
        if not np.isfinite(array).all():
            raise UsageError("a score is missing or not a number; leave out that seed, or that task of all methods.")
    if len({array.shape[1] for array in scores}) > 1:
        counts = " and ".join(str(array.shape[1]) for array in scores)
        raise UsageError(f"methods are compared task by task, but these have {counts} tasks; give all of them the same tasks.")
