"""What a policy server accepts from its clients, and what it lets a policy do."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mvl.checks import COUNT, NOT_NEGATIVE, POSITIVE, check_settings
from mvl.errors import UsageError


@dataclass(frozen=True)
class Limits:
    """Limits on messages, observations and actions."""

    strict: bool = False
    """Refuse observations outside the range of the training data, instead of marking them."""
    margin: float = 0.1
    """How far outside the range still counts as inside, in standard deviations."""
    max_action: tuple[float, ...] = ()
    """Largest size of an action: one number, or one for each dimension; empty: no limit."""
    max_change: tuple[float, ...] = ()
    """Largest change from one action to the next: one number, or one for each dimension; empty: no limit."""
    max_age: float = 1.0
    """Oldest observation in seconds, where the client sends its time."""
    max_rate: float = 1000.0
    """Messages per second from one client."""
    max_clients: int = 8
    """Clients at the same time."""
    max_bytes: int = 4_000_000
    """Largest message."""

    def __post_init__(self) -> None:
        check_settings(self, margin=NOT_NEGATIVE, max_action=POSITIVE, max_change=POSITIVE, max_age=POSITIVE)
        check_settings(self, max_rate=POSITIVE, max_clients=COUNT, max_bytes=COUNT)

    def check_dimensions(self, actions: int) -> None:
        """Refuse a limit that has another number of dimensions than actions."""
        for name in ("max_action", "max_change"):
            given = len(getattr(self, name))
            if given > 1 and given != actions:
                raise UsageError(f"{name} has {given} numbers; give one, or one for each of the {actions} action dimensions.")

    def check_age(self, sent: Any, now: float) -> None:
        """Refuse an observation that is too old, given when it was made; both are Unix times in seconds."""
        if sent is None:
            return
        if isinstance(sent, bool) or not isinstance(sent, int | float | np.floating) or not math.isfinite(sent):
            raise UsageError("timestamp is not a number; send the Unix time of the observation in seconds.")
        age = now - float(sent)
        if abs(age) > self.max_age:
            raise UsageError(
                f"the observation is {age:.3g} s old, and at most {self.max_age:g} s are allowed; "
                "send newer ones, synchronize the clocks, or raise --max-age."
            )


class Ranges(NamedTuple):
    """Ranges of the observations that a policy was trained on."""

    low: np.ndarray  # (d,)
    high: np.ndarray  # (d,)
    std: np.ndarray  # (d,)

    @classmethod
    def of_run(cls, data: dict[str, Any]) -> "Ranges | None":
        """From the entry `data` of a run's description; None if the run was made before ranges were stored."""
        found = data.get("observations")
        return None if found is None else cls(*(np.asarray(found[name], np.float32) for name in cls._fields))

    def distance(self, observation: np.ndarray) -> float:
        """How far an observation (d,) is outside the range: the largest excess of a dimension, in standard deviations."""
        outside = np.maximum(self.low - observation, observation - self.high)
        return float(np.maximum(outside / self.std, 0).max())


class ActionLimiter:
    """Limits the actions of one episode in size and in change from one to the next; those that are levels stay as they are."""

    def __init__(self, limits: Limits, levels: tuple[int, ...] = ()) -> None:
        """`levels` has the number of levels of each action dimension, 0 for a continuous one; empty: all are continuous."""
        given = (np.array(numbers or (np.inf,), np.float32) for numbers in (limits.max_action, limits.max_change))
        self.size, self.change = (np.where(levels, np.float32(np.inf), numbers) if levels else numbers for numbers in given)
        self.last: np.ndarray | None = None

    def __call__(self, actions: np.ndarray) -> np.ndarray:
        """The actions to be sent one after another, (steps, a); those of earlier calls came before."""
        limited: np.ndarray = np.clip(actions, -self.size, self.size)
        for step, action in enumerate(limited):
            if self.last is not None:
                limited[step] = np.clip(action, self.last - self.change, self.last + self.change)
            self.last = limited[step]
        return limited

    def reset(self) -> None:
        """Forget the last action, because a new episode begins."""
        self.last = None


class Rate:
    """Counts messages: on average at most `per_second`, of which a second's worth may come at once."""

    def __init__(self, per_second: float, now: float) -> None:
        self.per_second, self.left, self.last = per_second, max(per_second, 1.0), now

    def allows(self, now: float) -> bool:
        """Whether a message may come now; if so, it is counted."""
        self.left = min(max(self.per_second, 1.0), self.left + (now - self.last) * self.per_second)
        self.last = now
        if self.left < 1:
            return False
        self.left -= 1
        return True
