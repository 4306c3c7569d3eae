"""How imported numbers are stored: discrete actions as indices, actions scaled, and positions far from zero shifted to it."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mvl.data.signals import MOST_LEVELS, Dimension
from mvl.data.sources.episodes import Checked
from mvl.errors import DataError, UsageError

LOST = 0.01
"""An origin is subtracted if float32 would round a dimension by more than this share of its mean step."""
FAR, LARGE = 4, 100.0
"""An origin is worth it only for a dimension that is this many times farther from zero than it extends, and reaches this
number: what varies by a millionth around 1 is noise of a thing at rest."""
CONSTANT = 1e-6
"""An action dimension that varies by less than this share of its size is constant: the rest is rounding."""
ROWS_PER_LEVEL = 10
"""A dimension is taken as discrete only if there are this many rows for each value: two values in three rows say nothing."""


class Extent:
    """Range and steps of each dimension of one kind of array, gathered from one episode after another."""

    def __init__(self) -> None:
        self.lowest: np.ndarray = np.array(np.inf)  # (d,) once there is an episode
        self.highest: np.ndarray = np.array(-np.inf)
        self.moved: np.ndarray = np.array(0.0)
        """Sum of the lengths of all steps."""
        self.rows, self.steps = 0, 0

    def add(self, rows: np.ndarray) -> None:
        self.lowest = np.minimum(self.lowest, rows.min(axis=0))
        self.highest = np.maximum(self.highest, rows.max(axis=0))
        with np.errstate(over="ignore"):
            self.moved = self.moved + np.abs(np.diff(rows, axis=0)).sum(axis=0, dtype=np.float64)
        self.rows, self.steps = self.rows + len(rows), self.steps + len(rows) - 1

    @property
    def origin(self) -> np.ndarray | None:
        """What to subtract from each dimension so that float32 keeps its steps, (d,); None if nothing has to be."""
        middle, half = (self.lowest / 2 + self.highest / 2), (self.highest / 2 - self.lowest / 2)
        largest = np.maximum(np.abs(self.lowest), np.abs(self.highest)).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # what float32 cannot hold is refused when it is written
            lost = np.spacing(largest.astype(np.float32)) / 2
        far = (lost > LOST * self.moved / max(1, self.steps)) & (np.maximum(FAR * half, LARGE) < largest) & (self.moved > 0)
        return np.where(far, middle, 0.0).astype(np.float64) if far.any() else None


class Survey:
    """What the encoding of episodes depends on, gathered from one episode after another."""

    def __init__(self) -> None:
        self.observations, self.actions, self.goals = Extent(), Extent(), Extent()
        self.values: list[np.ndarray] = []
        """The values that each action dimension takes, at most one more than a discrete one may have."""

    def add(self, episode: Checked) -> None:
        self.observations.add(episode.observations)
        self.actions.add(episode.actions)
        if episode.goals is not None:
            self.goals.add(episode.goals)
        self.values = self.values or [np.empty(0)] * episode.actions.shape[1]
        for i, column in enumerate(episode.actions[:-1].T):  # without the last action, which is unused and often made up
            if len(self.values[i]) <= MOST_LEVELS:
                self.values[i] = np.unique(np.append(self.values[i], column))[: MOST_LEVELS + 1]

    def discrete(self, names: list[Dimension], wanted: set[int], unwanted: set[int]) -> list[tuple[float, ...]]:
        """The levels of each action dimension, empty if it is continuous: of those with two values, and of `wanted` ones."""
        found: list[tuple[float, ...]] = []
        for i, values in enumerate(self.values):
            if i in wanted and not 2 <= len(values) <= MOST_LEVELS:
                count = f"more than {MOST_LEVELS} values" if len(values) > 1 else "one value"
                raise UsageError(f"--discrete {names[i].label} takes {count}; a discrete action takes 2 to {MOST_LEVELS}.")
            two = len(values) == 2 and ROWS_PER_LEVEL * len(values) <= self.actions.rows
            found.append(tuple(values.tolist()) if i in wanted or (two and i not in unwanted) else ())
        return found


class Encoding(NamedTuple):
    """How the numbers of episodes are stored; each method takes rows (rows, d) and returns float32."""

    levels: list[tuple[float, ...]]
    """Of each action dimension; empty if it is continuous."""
    action_range: np.ndarray | None = None  # (2, a)
    """The actions that are stored as -1 and 1; None if they are stored as they are."""
    constant: tuple[int, ...] = ()
    """Action dimensions that are stored as 0, the middle of their range."""
    origin: np.ndarray | None = None  # (d,)
    goal_origin: np.ndarray | None = None  # (g,)

    def observations(self, rows: np.ndarray) -> np.ndarray:
        return _shifted(rows, self.origin)

    def goals(self, rows: np.ndarray) -> np.ndarray:
        return _shifted(rows, self.goal_origin)

    def actions(self, rows: np.ndarray) -> np.ndarray:
        encoded = rows.astype(np.float64)
        if self.action_range is not None:
            low, high = self.action_range
            encoded = 2 * (encoded - low) / (high - low) - 1
            encoded[:, list(self.constant)] = 0
        for i, levels in enumerate(self.levels):
            if levels:
                encoded[:, i] = np.abs(rows[:, i, None] - np.array(levels)).argmin(axis=1)
        return encoded.astype(np.float32)

    def notes(self) -> dict[str, np.ndarray]:
        """The arrays of a file that say how it is to be read."""
        arrays = {"action_range": self.action_range, "origin": self.origin, "goal_origin": self.goal_origin}
        return {name: array for name, array in arrays.items() if array is not None}


def encoding(survey: Survey, names: list[Dimension], source: Path, rescale: bool, levels: list[tuple[float, ...]]) -> Encoding:
    """The encoding of surveyed episodes; raises if their actions need `rescale`."""
    continuous = np.array([not values for values in levels])
    low, high = (np.where(continuous, limit, 0).astype(np.float64) for limit in (survey.actions.lowest, survey.actions.highest))
    goal_origin = survey.goals.origin if survey.goals.rows else None
    if not rescale:
        _check_actions(low, high, names, source)
        return Encoding(levels, None, (), survey.observations.origin, goal_origin)
    _check_near(survey.actions, continuous, names, source)
    constant = continuous & (high - low <= CONSTANT * np.maximum(np.abs(low), np.abs(high)))
    around = np.maximum(CONSTANT * np.abs(low), CONSTANT)
    low, high = np.where(constant, low - around, low), np.where(constant, high + around, high)
    limits = np.stack([np.where(continuous, low, -1), np.where(continuous, high, 1)])
    return Encoding(levels, limits, tuple(np.flatnonzero(constant).tolist()), survey.observations.origin, goal_origin)


def _check_actions(low: np.ndarray, high: np.ndarray, names: list[Dimension], source: Path) -> None:
    if max(-low.min(), high.max()) > 1 + 1e-5:
        worst = int(np.argmax(np.maximum(-low, high)))
        reach = f"{names[worst].label} reaches from {low[worst]:.4g} to {high[worst]:.4g}"
        raise DataError(
            f"{source}: actions must lie in [-1, 1], but {reach}; "
            "give --rescale to scale every dimension to that range (policies still return your units)."
        )


def _check_near(actions: Extent, continuous: np.ndarray, names: list[Dimension], source: Path) -> None:
    """Raise if policies, which return actions as float32, would round them."""
    origin = actions.origin
    far = np.flatnonzero(continuous & (np.zeros(len(continuous)) if origin is None else origin).astype(bool))
    if len(far):
        step = actions.moved[far[0]] / max(1, actions.steps)
        found = f"{names[far[0]].label} is around {actions.highest[far[0]]:.3g} and changes by {step:.2g}"
        raise DataError(f"{source}: {found}, which policies would round; if it is a position to go to, use --deltas.")


def _shifted(rows: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Rows as float32, after the origin is subtracted; raises if that is not possible."""
    shifted = rows if origin is None else rows - origin
    with np.errstate(over="ignore"):
        stored = shifted.astype(np.float32)
    if not np.isfinite(stored).all():
        worst, most = float(np.abs(shifted).max()), np.finfo(np.float32).max
        raise DataError(f"a value of {worst:.2g} is beyond {most:.2g}, the most that float32 holds; use larger units.")
    return stored
