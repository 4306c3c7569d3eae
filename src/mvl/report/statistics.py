"""What a few seeds say about a mean."""

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


def estimate(values: np.ndarray | list[float], within: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """Mean over seeds with Student's interval, cut to the possible range; one seed has no interval narrower than that."""
    values = np.asarray(values, float)
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, *within)
    half = float(student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return Estimate(mean, max(within[0], mean - half), min(within[1], mean + half))
