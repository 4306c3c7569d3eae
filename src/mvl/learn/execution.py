"""How the chunks of a policy are executed, in many episodes at once: open loop, or blended."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

Ask = Callable[[], np.ndarray]
"""Asks the policy for its next actions as vectors, (..., steps, a)."""
DECAY = 0.01
"""Blended actions are weighted by exp(-DECAY i), the oldest prediction having i = 0 (temporal ensembling, Zhao et al. 2023)."""


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
