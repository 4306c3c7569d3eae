"""A dataset: flat arrays of rows that are divided into episodes; arrays are checked when it is made."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mvl.checks import INSIDE_UNIT
from mvl.data.memory_map import chunks, take
from mvl.data.signals import Signals
from mvl.errors import DataError, UsageError
from mvl.types import Statistics

MANY_ROWS, SAMPLED_ROWS = 4_000_000, 500_000
"""Statistics of a dataset with more than MANY_ROWS rows are computed from a sample of about SAMPLED_ROWS rows."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Episodes stored one after another. An episode of T transitions has T + 1 rows; the action of its last row is unused.

    The last row of an episode is neither a transition nor ever a goal: as in OGBench's compact layout, the last possible
    goal of an episode is the row before it.
    """

    observations: np.ndarray  # (rows, d) float32
    actions: np.ndarray  # (rows, a) float32, in [-1, 1]
    ends: np.ndarray  # (episodes,) index of each episode's last row
    source: str = "arrays"
    """Where the data comes from, for messages."""
    oracle: np.ndarray | None = None  # (rows, g) float32
    """Each row as a goal, if goals are not whole observations (oracle goals)."""
    action_range: np.ndarray | None = None  # (2, a)
    """The original actions that were scaled to -1 and 1; None if actions were not scaled."""
    signals: Signals | None = None
    """Names, units and rate; None if they are not known."""

    @classmethod
    def from_arrays(
        cls,
        observations: ArrayLike,
        actions: ArrayLike,
        terminals: ArrayLike,
        source: str = "arrays",
        oracle: ArrayLike | None = None,
        action_range: ArrayLike | None = None,
    ) -> "Dataset":
        """From flat arrays; `terminals` is true at the last row of every episode, `oracle` has each row as a goal."""
        observations = _numbers(observations, "observations", source)
        actions = _numbers(actions, "actions", source)
        terminals = np.asarray(terminals)
        _check_lengths(observations, actions, terminals, source)
        _check_finite(observations, "observations", source)
        _check_finite(actions, "actions", source)
        _check_range(actions, source)
        ends = np.flatnonzero(terminals)
        check_episodes(ends, len(terminals), source)
        goals = None if oracle is None else _oracle(oracle, len(terminals), source)
        limits = None if action_range is None else _action_range(action_range, actions.shape[1], source)
        return cls(observations, actions, ends, source, goals, limits)

    @classmethod
    def from_episodes(cls, episodes: Iterable[tuple[np.ndarray, np.ndarray]], source: str = "episodes") -> "Dataset":
        """From (observations, actions) pairs; the last action may be left out."""
        observations, actions, terminals = [], [], []
        for index, (states, moves) in enumerate(episodes):
            states, moves = np.asarray(states), np.asarray(moves)
            if len(moves) not in (len(states), len(states) - 1) or moves.ndim != 2:
                raise DataError(
                    f"{source}: episode {index} has {len(states)} observations and {len(moves)} actions; "
                    "give one action per observation, or one less."
                )
            padded = moves if len(moves) == len(states) else np.concatenate([moves, np.zeros_like(moves[:1])])
            observations.append(states)
            actions.append(padded)
            terminals.append(np.arange(len(states)) == len(states) - 1)
        if not observations:
            raise DataError(f"{source}: no episodes; give at least one.")
        try:
            states, moves, flags = (np.concatenate(parts) for parts in (observations, actions, terminals))
        except ValueError as error:
            raise DataError(f"{source}: episodes differ in their dimensions ({error}); make them equal.") from None
        return cls.from_arrays(states, moves, flags, source)

    @cached_property
    def starts(self) -> np.ndarray:
        return np.concatenate([[0], self.ends[:-1] + 1])

    @cached_property
    def transitions(self) -> np.ndarray:
        """Rows that have a successor: all but the last of each episode."""
        keep = np.ones(len(self.observations), bool)
        keep[self.ends] = False
        return np.flatnonzero(keep)

    @cached_property
    def final_goals(self) -> np.ndarray:
        """For each row, the last row of its episode that may be a goal."""
        return np.repeat(self.ends - 1, self.lengths)

    @cached_property
    def early(self) -> np.ndarray:
        """Transitions with a goal still ahead of them: all but the last of each episode."""
        rows: np.ndarray = self.transitions[self.transitions < self.final_goals[self.transitions]]
        return rows

    def as_goals(self, rows: np.ndarray) -> np.ndarray:
        """Rows as goals, (..., g): their observations, or their oracle goals."""
        return take(self.observations if self.oracle is None else self.oracle, rows)

    @cached_property
    def first_rows(self) -> np.ndarray:
        """For each row, the first row of its episode."""
        return np.repeat(self.starts, self.lengths)

    @cached_property
    def sampled(self) -> "Dataset":
        """The data for statistics: the dataset itself, or evenly spaced episodes of a very large one."""
        if len(self.observations) <= MANY_ROWS:
            return self
        every = len(self.observations) // SAMPLED_ROWS
        chosen = range(0, len(self.ends), every)
        rows = np.concatenate([np.arange(self.starts[i], self.ends[i] + 1) for i in chosen])
        ends = np.cumsum([self.ends[i] + 1 - self.starts[i] for i in chosen]) - 1
        return Dataset(take(self.observations, rows), take(self.actions, rows), ends, self.source)

    @property
    def lengths(self) -> np.ndarray:
        """Rows of each episode."""
        return np.diff(np.concatenate([[-1], self.ends]))

    @property
    def bytes(self) -> int:
        """Bytes that training keeps on its device: the arrays, and four 4-byte numbers for every row."""
        goals = 0 if self.oracle is None else self.oracle.nbytes
        return self.observations.nbytes + self.actions.nbytes + goals + 4 * 4 * len(self.observations)

    @cached_property
    def steps(self) -> np.ndarray:
        """Next observation minus observation of each transition, (transitions, d)."""
        steps: np.ndarray = self.observations[self.transitions + 1] - self.observations[self.transitions]
        return steps

    @cached_property
    def statistics(self) -> Statistics:
        steps = self.sampled.steps
        std = np.maximum(self.sampled.observations.std(axis=0, dtype=np.float64), 1e-6)
        step = np.median(np.linalg.norm(steps, axis=-1))
        scaled = np.median(np.linalg.norm(steps / std, axis=-1))
        if step == 0:
            raise DataError(
                f"{self.source}: more than half of the transitions do not move, so nothing is learned; check the observations."
            )
        return Statistics(tuple(std.tolist()), float(step), float(scaled))

    def split(self, held_out: float) -> tuple["Dataset", "Dataset"]:
        """Training data (the first episodes) and validation data (the share `held_out` of the episodes, from the end)."""
        INSIDE_UNIT.check(held_out=held_out)
        count = round(held_out * len(self.ends))
        if not 0 < count < len(self.ends):
            raise UsageError(f"holding out {held_out} of {len(self.ends)} episodes leaves one side empty; choose another share.")
        kept = len(self.ends) - count
        cut = self.ends[kept - 1] + 1
        first, last = (None, None) if self.oracle is None else (self.oracle[:cut], self.oracle[cut:])
        name = f"{self.source} (held out)"
        return (
            Dataset(
                self.observations[:cut], self.actions[:cut], self.ends[:kept], self.source, first, self.action_range, self.signals
            ),
            Dataset(
                self.observations[cut:], self.actions[cut:], self.ends[kept:] - cut, name, last, self.action_range, self.signals
            ),
        )


def _numbers(values: ArrayLike, name: str, source: str) -> np.ndarray:
    """The values as float32, (rows, dimensions)."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise DataError(f"{source}: {name} has type {array.dtype}; numbers are needed.")
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"{source}: {name} has shape {array.shape}; (rows, dimensions) is needed.")
    return np.ascontiguousarray(array, dtype=np.float32)


def _oracle(values: ArrayLike, rows: int, source: str) -> np.ndarray:
    """Oracle goals as float32, (rows, g), checked."""
    oracle = _numbers(values, "oracle", source)
    if len(oracle) != rows:
        raise DataError(f"{source}: oracle has {len(oracle)} rows, observations have {rows}; they must be equal.")
    _check_finite(oracle, "oracle", source)
    return oracle


def _action_range(values: ArrayLike, dimensions: int, source: str) -> np.ndarray:
    """Limits of the original actions as float32, (2, dimensions), checked."""
    limits = _numbers(values, "action_range", source)
    if limits.shape != (2, dimensions) or not (limits[0] < limits[1]).all():
        raise DataError(f"{source}: action_range must have a lower and a higher number for every action dimension.")
    return limits


def _check_lengths(observations: np.ndarray, actions: np.ndarray, terminals: np.ndarray, source: str) -> None:
    if terminals.ndim != 1:
        raise DataError(f"{source}: terminals has shape {terminals.shape}; one flag per row is needed.")
    if not len(observations) == len(actions) == len(terminals):
        raise DataError(
            f"{source}: observations, actions and terminals have {len(observations)}, {len(actions)} and "
            f"{len(terminals)} rows; they must be equally long."
        )


def _check_finite(array: np.ndarray, name: str, source: str) -> None:
    for first, part in chunks(array):
        bad = np.argwhere(~np.isfinite(part))
        if len(bad):
            row, column = bad[0]
            where = f"at row {first + row}, dimension {column}"
            raise DataError(f"{source}: {name} is {part[row, column]} {where}; remove that episode.")


def _check_range(actions: np.ndarray, source: str) -> None:
    for first, part in chunks(actions):
        highest = np.abs(part).max(initial=0.0)
        if highest > 1 + 1e-5:
            row, column = np.argwhere(np.abs(part) == highest)[0]
            raise DataError(
                f"{source}: actions must lie in [-1, 1], but dimension {column} is {part[row, column]:.4g} at row {first + row}; "
                "rescale them."
            )


def check_episodes(ends: np.ndarray, rows: int, source: str) -> None:
    """Raise if the last row does not end an episode, or an episode has one row only."""
    if not len(ends) or ends[-1] != rows - 1:
        raise DataError(f"{source}: the last row does not end an episode; the file may be cut short, or terminals wrong.")
    lengths = np.diff(np.concatenate([[-1], ends]))
    if lengths.min() < 2:
        raise DataError(f"{source}: episode {int(lengths.argmin())} has one row; an episode needs at least two.")
