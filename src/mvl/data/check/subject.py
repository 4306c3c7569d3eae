"""A dataset as the findings about it look at it: names, steps, and dimensions that need care."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mvl.data.dataset import Dataset

TURNS = {"2 pi": 2 * np.pi, "360": 360.0}
"""Full turns of angles."""
EDGE = 0.15
"""An angle that wraps jumps between the first and the last part, this share of a turn, of its range."""
SEEN_ROWS, SEEN_EPISODES = 20_000, 40
"""Size of the sample for findings that compare many pairs of columns."""


def labels(data: Dataset, kind: str) -> list[str]:
    """Names of the dimensions of observations or actions, without units; numbered if the data has none."""
    named = [label for signal in getattr(data.signals, kind) for label in signal.labels] if data.signals else []
    return named or [f"{kind}_{i}" for i in range(getattr(data, kind).shape[1])]


def some(names: Iterable[str]) -> str:
    """The first few names, and how many more there are, as text."""
    found = list(names)
    return ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")


@dataclass(frozen=True, eq=False)
class View:
    """A dataset with what several findings need, each computed once."""

    data: Dataset

    @cached_property
    def observations(self) -> list[str]:
        """Names of the observation dimensions."""
        return labels(self.data, "observations")

    @cached_property
    def actions(self) -> list[str]:
        """Names of the action dimensions."""
        return labels(self.data, "actions")

    @cached_property
    def changing(self) -> np.ndarray:
        """Which observation dimensions take more than one value, (d,)."""
        return np.asarray(self.data.observations.min(axis=0) < self.data.observations.max(axis=0))

    @cached_property
    def continuous(self) -> np.ndarray:
        """Which action dimensions are not discrete and take more than one value, (a,)."""
        moving = self.data.actions.min(axis=0) < self.data.actions.max(axis=0)
        if self.data.signals and self.data.signals.actions:
            moving &= [not signal.levels for signal in self.data.signals.actions for _ in signal.labels]
        return np.asarray(moving)

    @cached_property
    def turns(self) -> dict[int, str]:
        """Observation dimensions that jump by a full turn, and how much that is."""
        low, high = self.data.observations.min(axis=0), self.data.observations.max(axis=0)
        found = {}
        for name, turn in TURNS.items():
            for i in np.flatnonzero((high - low > 0.9 * turn) & (high - low < 1.02 * turn)).tolist():
                jumps = self.data.transitions[np.abs(self.data.steps[:, i]) > (1 - 2 * EDGE) * turn]
                ends = np.sort([self.data.observations[jumps + later, i] for later in (0, 1)], axis=0)
                across = (ends[0] < low[i] + EDGE * turn) & (ends[1] > high[i] - EDGE * turn)
                if 0 < len(jumps) < 0.1 * len(self.data.steps) and across.all():
                    found[i] = name
        return found

    @cached_property
    def flags(self) -> list[int]:
        """Observation dimensions that take two values, such as whether something is held."""
        values = self.data.observations
        two = ((values == values.min(axis=0)) | (values == values.max(axis=0))).all(axis=0)
        return np.flatnonzero(two & self.changing).tolist()

    @cached_property
    def lengths(self) -> np.ndarray:
        """Length of every step, (transitions,): of angles that wrap the shorter way around, and without flags, which jump."""
        kept = [i for i in range(len(self.observations)) if i not in self.flags] or list(range(len(self.observations)))
        steps = self.data.steps[:, kept] if self.flags or self.turns else self.data.steps
        for place, i in enumerate(kept):
            if i in self.turns:
                turn = TURNS[self.turns[i]]
                steps[:, place] = (steps[:, place] + turn / 2) % turn - turn / 2
        return np.asarray(np.linalg.norm(steps, axis=1))

    @cached_property
    def sample(self) -> Dataset:
        """A small part of the data: the first rows of evenly spaced episodes."""
        count = min(SEEN_EPISODES, len(self.data.ends))
        return self.data.some(np.linspace(0, len(self.data.ends) - 1, count).astype(int).tolist(), SEEN_ROWS // count)
