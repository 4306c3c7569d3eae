"""A dataset: flat arrays of rows that are divided into episodes; arrays are checked when it is made."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mvl.checks import INSIDE_UNIT
from mvl.data.array_checks import (
    as_action_range,
    as_goals,
    as_numbers,
    as_origin,
    as_rows,
    check_episodes,
    check_finite,
    check_lengths,
    check_range,
    check_signals,
    image_shape,
    level_counts,
)
from mvl.data.memory_map import take
from mvl.data.signals import Signals
from mvl.errors import DataError, UsageError
from mvl.types import ImageShape, Statistics

MANY_ROWS, SAMPLED_ROWS = 4_000_000, 500_000
"""Statistics of a dataset with more than MANY_ROWS rows are computed from a sample of about SAMPLED_ROWS rows."""
REGULAR = 0.75
"""Share of the stays at one observation that must be equally long, but for one row, to be a matter of the rate."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Episodes stored one after another. An episode of T transitions has T + 1 rows; the action of its last row is unused.

    Make one with `from_episodes` or `from_arrays`, which check the arrays, and give it to `mvl.train`. The last row of an
    episode is neither a transition nor ever a goal: as in OGBench's compact layout, the last possible goal of an episode is
    the row before it.

    Examples:
        >>> episodes = [(observations, actions)]  # arrays (rows, d) and (rows, a), actions in [-1, 1]
        >>> run = mvl.train(mvl.Dataset.from_episodes(episodes))
    """

    observations: np.ndarray  # (rows, d) float32; of images their bytes
    actions: np.ndarray  # (rows, a) float32, in [-1, 1]; of discrete dimensions the index of the level
    ends: np.ndarray  # (episodes,) index of each episode's last row
    source: str = "arrays"
    """Where the data comes from, for messages."""
    oracle: np.ndarray | None = None  # (rows, g) float32
    """Each row as a goal, if goals are not whole observations (oracle goals)."""
    action_range: np.ndarray | None = None  # (2, a)
    """The original actions that were scaled to -1 and 1; None if actions were not scaled."""
    signals: Signals | None = None
    """Names, units and rate; None if they are not known."""
    origin: np.ndarray | None = None  # (d,) float64
    """What was subtracted from the original observations, which float32 would have rounded; None: nothing."""
    goal_origin: np.ndarray | None = None  # (g,) float64
    """What was subtracted from the original goals, if they are not whole observations; None: nothing."""
    image: ImageShape | None = None
    """Height, width and channels of an observation if it is an image, whose bytes are a row; None: it is numbers."""

    @classmethod
    def from_arrays(
        cls,
        observations: ArrayLike,
        actions: ArrayLike,
        terminals: ArrayLike,
        source: str = "arrays",
        oracle: ArrayLike | None = None,
        action_range: ArrayLike | None = None,
        signals: Signals | None = None,
        origin: ArrayLike | None = None,
        goal_origin: ArrayLike | None = None,
    ) -> "Dataset":
        """From flat arrays.

        Args:
            observations: (rows, d), or images (rows, height, width, channels) of bytes.
            actions: (rows, a), in [-1, 1].
            terminals: (rows,), true at the last row of every episode.
            source: Where the data comes from, for messages.
            oracle: (rows, g), each row as a goal, if goals are not whole observations.
            action_range: (2, a), what -1 and 1 stand for, if actions were scaled.
            signals: Names, units and rate.
            origin: (d,), what was subtracted from the observations.
            goal_origin: (g,), what was subtracted from the goals.
        """
        image = image_shape(observations, source)
        observations = as_rows(observations) if image else as_numbers(observations, "observations", source)
        actions = as_numbers(actions, "actions", source)
        terminals = np.asarray(terminals)
        check_lengths(observations, actions, terminals, source)
        if image is None:
            check_finite(observations, "observations", source)
        check_finite(actions, "actions", source)
        check_range(actions, level_counts(signals, actions.shape[1]), source)
        ends = np.flatnonzero(terminals)
        check_episodes(ends, len(terminals), source)
        goals = None if oracle is None else as_goals(oracle, len(terminals), source)
        limits = None if action_range is None else as_action_range(action_range, actions.shape[1], source)
        if signals is not None:
            check_signals(signals, observations, actions, goals, source)
        shift = None if origin is None else as_origin(origin, observations, "origin", source)
        goal_shift = None if goal_origin is None or goals is None else as_origin(goal_origin, goals, "goal_origin", source)
        return cls(observations, actions, ends, source, goals, limits, signals, shift, goal_shift, image)

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
        return self.some(range(0, len(self.ends), len(self.observations) // SAMPLED_ROWS))

    def some(self, episodes: Iterable[int], longest: int | None = None) -> "Dataset":
        """Some of the episodes, of each at most the first `longest` rows; without goals of their own."""
        ranges = [(self.starts[i], self.ends[i] + 1) for i in episodes]
        spans = [np.arange(first, last if longest is None else min(last, first + longest)) for first, last in ranges]
        rows, ends = np.concatenate(spans), np.cumsum([len(span) for span in spans]) - 1
        states, actions = take(self.observations, rows), take(self.actions, rows)
        return replace(self, observations=states, actions=actions, ends=ends, oracle=None)

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
    def repeats(self) -> int:
        """For how many rows each observation stays the same, if most stay equally long, as at a rate too high; otherwise 1."""
        moves = self.transitions[self.steps.any(axis=1)]
        same = self.first_rows[moves[1:]] == self.first_rows[moves[:-1]]
        stays = np.diff(moves)[same]
        if not len(stays):
            return 1
        usual = int(np.median(stays))
        return usual if (np.abs(stays - usual) <= 1).mean() > REGULAR else 1

    @cached_property
    def statistics(self) -> Statistics:
        steps = self.sampled.steps
        std = np.maximum(self.sampled.observations.std(axis=0, dtype=np.float64), 1e-6)
        step = np.median(np.linalg.norm(steps, axis=-1))
        scaled = np.median(np.linalg.norm(steps / std, axis=-1))
        if not np.isfinite(step):
            raise DataError(f"{self.source}: observations are too large for their steps to be measured; choose larger units.")
        if step == 0:
            way_out = f"import with --every {self.sampled.repeats}" if self.sampled.repeats > 1 else "check the observations"
            raise DataError(f"{self.source}: more than half of the transitions do not move, so nothing is learned; {way_out}.")
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
        states, actions = (self.observations[:cut], self.observations[cut:]), (self.actions[:cut], self.actions[cut:])
        return (
            replace(self, observations=states[0], actions=actions[0], ends=self.ends[:kept], oracle=first),
            replace(self, observations=states[1], actions=actions[1], ends=self.ends[kept:] - cut, oracle=last, source=name),
        )
