"""What a policy remembers in many episodes at once: the last observations, and chunks of actions under way."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

Ask = Callable[[], np.ndarray]
"""Asks the policy for its next actions as vectors, (..., steps, a)."""
DECAY = 0.01
"""Blended actions are weighted by exp(-DECAY i), the oldest prediction having i = 0 (temporal ensembling, Zhao et al. 2023)."""


class Recent:
    """The last observations of each episode side by side, the oldest first; before the start the first one is repeated."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.reset()

    def reset(self) -> None:
        self.frames: list[np.ndarray] = []

    def add(self, observations: np.ndarray) -> np.ndarray:
        """Remember observations (..., d); returns states (..., count * d). Other episodes than before begin anew."""
        if self.frames and self.frames[-1].shape != observations.shape:
            self.reset()
        self.frames = [*self.frames, observations][-self.count :]
        repeated = [self.frames[0]] * (self.count - len(self.frames))
        return np.concatenate([*repeated, *self.frames], axis=-1) if self.count > 1 else observations


class Execution(Protocol):
    """Chooses one action per step from the chunks of a policy."""

    def reset(self) -> None:
        """New episodes begin, or new goals are pursued."""
        ...

    def next(self, ask: Ask) -> np.ndarray:
        """The actions of this step, (..., a)."""
        ...


class OpenLoop:
    """All actions of a chunk in turn; the policy is asked again after the last."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.reset()

    def reset(self) -> None:
        self.taken = self.steps

    def next(self, ask: Ask) -> np.ndarray:
        if self.taken == self.steps:
            self.actions, self.taken = ask(), 0
        self.taken += 1
        action: np.ndarray = self.actions[..., self.taken - 1, :]
        return action


class Blended:
    """The policy is asked at every step; the action is the mean of all predictions for this step, with exponential weights."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.reset()

    def reset(self) -> None:
        self.answers: list[np.ndarray] = []

    def next(self, ask: Ask) -> np.ndarray:
        self.answers = [*self.answers, ask()][-self.steps :]
        ages = range(len(self.answers) - 1, -1, -1)
        predictions = np.stack([answer[..., age, :] for answer, age in zip(self.answers, ages, strict=True)])
        weights = np.exp(-DECAY * np.arange(len(predictions)))
        return np.tensordot(weights / weights.sum(), predictions, axes=1).astype(np.float32)


EXECUTIONS: dict[str, Callable[[int], Execution]] = {"open": OpenLoop, "blended": Blended}
"""Ways of execution by the names that settings have for them."""
