"""What a few seeds say: about one task, about many tasks, about two methods.

Scores of many tasks are arrays (..., seeds, tasks); leading axes are kept, so that resamples go through in one call.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student


class Estimate(NamedTuple):
    mean: float
    low: float
    high: float
    """A 95 % interval for the mean."""

    def __str__(self) -> str:
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"


class SeedSharding(NamedTuple):
    """What a cell of the paper's tables holds."""

    mean: float
    std: float
    """Of the seeds, not of their mean; of one seed it is not a number."""

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.std:.2f}"


def estimate(values: np.ndarray | list[float], within: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """Mean over seeds with Student's interval, cut to the possible range; one seed has no interval narrower than that."""
    values = np.asarray(values, float)
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, *within)
    half = float(student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return Estimate(mean, max(within[0], mean - half), min(within[1], mean + half))


def spread(values: np.ndarray | list[float]) -> SeedSharding:
    """Mean and standard deviation over seeds, the latter with n - 1 (the paper does not say; with n it is smaller)."""
    values = np.asarray(values, float)
    return SeedSharding(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else float("nan"))


def mean_score(scores: np.ndarray) -> np.ndarray:
    return scores.mean(axis=(-2, -1))


def median_score(scores: np.ndarray) -> np.ndarray:
    """The median of the tasks' means."""
    return np.median(scores.mean(axis=-2), axis=-1)


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """The mean of the middle half of all scores, seeds and tasks alike: unmoved by outliers, unlike the mean,
    and by far steadier than the median."""
    ranked = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = ranked.shape[-1] // 4
    return ranked[..., cut : ranked.shape[-1] - cut].mean(axis=-1)


def optimality_gap(scores: np.ndarray, wanted: float = 1.0) -> np.ndarray:
    """How far scores stay below the wanted one; what lies above makes up for nothing."""
    return wanted - np.minimum(scores, wanted).mean(axis=(-2, -1))


def probability_of_improvement(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How often a seed of one method beats a seed of the other on the same task, averaged over tasks.

    A tie counts half, so on each task it is the Mann-Whitney U over the number of pairs; the numbers of seeds may differ.
    """
    mine, theirs = scores[..., :, None, :], others[..., None, :, :]
    return ((mine > theirs).mean(axis=(-3, -2, -1)) + (mine >= theirs).mean(axis=(-3, -2, -1))) / 2
