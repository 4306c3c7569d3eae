"""How sure a number about many tasks is: stratified bootstrap intervals."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mvl.errors import UsageError

AT_ONCE = 500
"""Resamples that lie in memory together."""


class Interval(NamedTuple):
    value: float
    """Of the scores themselves."""
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
    """The percentile interval of a statistic when seeds are drawn anew, with replacement, within each task.

    Each array of scores is (seeds, tasks); several of them (as for `probability_of_improvement`) share their tasks and are
    drawn independently. It answers for other seeds on the same tasks, not for other tasks.
    """
    checked = [np.asarray(array, float) for array in scores]
    _check(checked)
    counts = [min(AT_ONCE, resamples - done) for done in range(0, resamples, AT_ONCE)]
    found = [statistic(*(resampled(array, count, generator) for array in checked)) for count in counts]
    low, high = np.quantile(np.concatenate(found), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(statistic(*checked)), float(low), float(high))


def resampled(scores: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Each task's seeds drawn anew, (count, seeds, tasks)."""
    seeds, tasks = scores.shape
    return scores[generator.integers(seeds, size=(count, seeds, tasks)), np.arange(tasks)]


def _check(scores: list[np.ndarray]) -> None:
    for array in scores:
        if array.ndim != 2 or 0 in array.shape:
            raise UsageError(f"scores have shape {array.shape}; (seeds, tasks) is needed, with at least one of each.")
        if not np.isfinite(array).all():
            raise UsageError("a score is missing or not a number; leave out that seed, or that task of all methods.")
    if len({array.shape[1] for array in scores}) > 1:
        counts = " and ".join(str(array.shape[1]) for array in scores)
        raise UsageError(f"methods are compared task by task, but these have {counts} tasks.")
