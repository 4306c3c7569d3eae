"""Which actions follow which observations: correlations of actions with observations of earlier and later rows."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from mvl.errors import UsageError

LAGS = range(-3, 11)
"""Rows by which an observation may come after the action that it is compared with."""
ALIKE = 0.95
"""Correlation from which an action is taken for the position in an observation; a follower arm tracks its leader above it."""
SCALES = (0.8, 1.25)
"""Ratio of the two: a position and the command to go there have the same units."""
VELOCITY = 0.9
"""Correlation with the steps of another dimension from which an observation is taken for its velocity."""


class Following(NamedTuple):
    """An observation dimension that an action dimension follows."""

    observation: int
    lag: int
    """Rows by which the observation comes later; negative: the action repeats what was observed before."""
    equal: bool
    """Whether both are equal but for rounding."""


def following(observations: np.ndarray, actions: np.ndarray, ends: np.ndarray, ignore: np.ndarray) -> dict[int, Following]:
    """For each action dimension that is a position in the observations, which, and how much later it is observed.

    `ignore` (d,) is true for observation dimensions that do not count.
    """
    states, moves = observations.astype(np.float64), actions.astype(np.float64)
    found, best = {}, np.zeros(moves.shape[1])
    for lag in sorted(LAGS, key=abs):  # nearest first, so that equally good later ones do not win
        rows = rows_with_next(ends, abs(lag)) + max(0, -lag)
        if len(rows) < 2:
            continue
        alike, scale = _correlation(moves[rows], states[rows + lag])
        alike = np.where((scale > SCALES[0]) & (scale < SCALES[1]) & ~ignore, alike, 0)
        for action in np.flatnonzero(alike.max(axis=1, initial=0) > np.maximum(ALIKE, best + 1e-12)):
            chosen = int(alike[action].argmax())
            best[action] = alike[action, chosen]
            equal = np.allclose(moves[rows, action], states[rows + lag, chosen], rtol=1e-5, atol=1e-6)
            found[int(action)] = Following(chosen, lag, bool(equal))
    return found


def present_positions(
    found: dict[int, Following], observations: Sequence[str], actions: Sequence[str], skip: Collection[int]
) -> dict[int, int]:
    """For each action dimension but those to `skip`, the observation dimension with the present position.

    An action that hardly moves follows nothing: it is matched by its label, or by its place among the others.
    """
    offsets = {one.observation - action for action, one in found.items()}
    offset = offsets.pop() if len(offsets) == 1 else len(observations)  # which leads to no dimension
    matched, missing = {}, []
    for i, label in enumerate(actions):
        if i in skip:
            continue
        if i in found:
            matched[i] = found[i].observation
        elif label in observations:
            matched[i] = list(observations).index(label)
        elif 0 <= i + offset < len(observations):
            matched[i] = i + offset
        else:
            missing.append(label)
    if missing:
        raise UsageError(
            f"--deltas: no observation has the position of {', '.join(missing)}; --drop it, or name other --actions."
        )
    return matched


def rows_with_next(ends: np.ndarray, later: int = 1) -> np.ndarray:
    """Rows that have another one in their episode `later` rows after them."""
    rows = np.arange(ends[-1] + 1)
    last: np.ndarray = ends[np.searchsorted(ends, rows)]
    return rows[rows + later <= last]


def _correlation(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Correlation of each dimension of one array with each of another, and the ratio of their deviations; 0 of constant ones."""
    centered = [array - array.mean(axis=0) for array in (left, right)]
    a, b = (np.sqrt(np.square(array).mean(axis=0)) for array in centered)
    product = centered[0].T @ centered[1] / len(left)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(product / np.outer(a, b)), np.nan_to_num(a[:, None] / b, posinf=0.0)


def velocities(states: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which dimensions are velocities of others, (d,): they correlate with the steps before or after their row.

    An action that is the next velocity is not a position, although it is the next observation.
    """
    rows = rows_with_next(ends)
    steps = states[rows + 1] - states[rows]
    alike = np.zeros((states.shape[1], states.shape[1]))
    for place in (rows, rows + 1):
        alike = np.maximum(alike, np.abs(_correlation(steps, states[place])[0]))
    np.fill_diagonal(alike, 0)
    return np.asarray((alike > VELOCITY).any(axis=0))


def explained(values: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Share of the variance of each dimension of `values` that a linear function of `by` explains, (d,); 0 of constant ones."""
    inputs = np.concatenate([by - by.mean(axis=0), np.ones((len(by), 1))], axis=1)
    weights, *_ = np.linalg.lstsq(inputs, values, rcond=None)
    left, total = (values - inputs @ weights).var(axis=0), values.var(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(1 - left / total, neginf=0.0))
