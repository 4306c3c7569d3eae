"""Statistics over seeds: of one task, of many tasks, and of two methods.

Scores of many tasks are arrays (..., seeds, tasks); leading axes are kept, so that all resamples are computed in one call.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit  # scipy.stats, which has the same function, takes half a second to import


class Estimate(NamedTuple):
    """A mean over seeds with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"


class MeanStd(NamedTuple):
    """Mean and standard deviation over seeds, as in the paper's tables."""

    mean: float
    std: float
    """Standard deviation of the seeds, not of their mean; NaN for one seed."""

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.std:.2f}"


def estimate(values: np.ndarray | list[float], within: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """Mean over seeds with Student's 95 % interval, clipped to the possible range `within`; for one seed it is that range."""
    values = np.asarray(values, float)
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, *within)
    half = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
    return Estimate(mean, max(within[0], mean - half), min(within[1], mean + half))


def mean_std(values: np.ndarray | list[float]) -> MeanStd:
    """Mean and standard deviation over seeds, with n - 1 in the denominator (the paper does not say which it uses)."""
    values = np.asarray(values, float)
    return MeanStd(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else float("nan"))


def mean_score(scores: np.ndarray) -> np.ndarray:
    """The mean over seeds and tasks."""
    found: np.ndarray = scores.mean(axis=(-2, -1))
    return found


def median_score(scores: np.ndarray) -> np.ndarray:
    """The median over tasks of their means over seeds."""
    found: np.ndarray = np.median(scores.mean(axis=-2), axis=-1)
    return found


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """The mean of the middle half of all scores, over seeds and tasks together.

    Outliers do not affect it, unlike the mean, and it varies less between samples than the median.
    """
    ranked = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = ranked.shape[-1] // 4
    found: np.ndarray = ranked[..., cut : ranked.shape[-1] - cut].mean(axis=-1)
    return found


def optimality_gap(scores: np.ndarray, wanted: float = 1.0) -> np.ndarray:
    """The mean amount by which scores are below `wanted`; scores above it count as `wanted`."""
    found: np.ndarray = wanted - np.minimum(scores, wanted).mean(axis=(-2, -1))
    return found


def probability_of_improvement(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The probability that a seed of one method beats a seed of the other on the same task, averaged over tasks.

    A tie counts half, so on each task it is the Mann-Whitney U divided by the number of pairs; the numbers of seeds may differ.
    """
    first, second = scores[..., :, None, :], others[..., None, :, :]
    found: np.ndarray = ((first > second).mean(axis=(-3, -2, -1)) + (first >= second).mean(axis=(-3, -2, -1))) / 2
    return found
