"""The conversation with one client of a policy server: from the bytes of an observation to an answer with actions."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mvl import __version__
from mvl.deploy.about import about_policy, action_dimensions
from mvl.deploy.entries import Entry, entry, vector
from mvl.deploy.goals import Goals, find_goal, load_goals
from mvl.deploy.limits import ActionLimiter, Limits, Ranges, Rate
from mvl.deploy.messages import unpack
from mvl.deploy.policy import LoadedPolicy
from mvl.errors import MvlError, UsageError
from mvl.runs.folder import Description

PROTOCOL = "openpi-websocket/1"


@dataclass(frozen=True)
class Served:
    """A policy as a server offers it."""

    run: Path
    description: Description
    policy: LoadedPolicy
    """Never acts itself: every client gets a copy, so that all begin in the same state."""
    limits: Limits
    chunks: bool = False
    """Whether an answer has all actions of a chunk, for clients that carry them out in turn before they ask again."""

    def __post_init__(self) -> None:
        self.limits.check_dimensions(self.actions)
        if self.limits.strict and self.ranges is None:
            raise UsageError(f"{self.run} does not say what range its data had, which --strict needs; train it again.")
        if self.chunks and self.history > 1:
            raise UsageError(f"{self.run} needs every observation for its history; leave out --chunks.")

    @property
    def history(self) -> int:
        """How many observations a state of the policy consists of."""
        return self.description.fitted.learning.history

    @property
    def observation(self) -> int:
        """Size of one observation as the data has it."""
        return self.policy.shapes.observation // self.history

    @property
    def actions(self) -> int:
        """Dimensions of an action."""
        return action_dimensions(self.description)

    @cached_property
    def ranges(self) -> Ranges | None:
        return Ranges.of_run(self.description.data)

    def goals(self) -> Goals:
        """The named goals as they are now."""
        return load_goals(self.run, self.description)

    def metadata(self, goals: Goals) -> dict[str, Any]:
        """What a client is told first."""
        return {
            "protocol": PROTOCOL,
            "server": f"mvl {__version__}",
            **about_policy(self.run, self.description),
            "observation_size": self.observation,
            "goal_size": self.policy.shapes.goal,
            "action_horizon": self.policy.shapes.chunk if self.chunks else 1,
            "goals": sorted(goals),
        }

    def warm_up(self) -> None:
        """Compile what answers need, so that the first client does not wait for it."""
        policy, origin = self.policy.copy(), self.description.inputs.origin
        state = np.zeros(self.observation) if self.ranges is None else (self.ranges.low + self.ranges.high) / 2
        state = state if origin is None else state + origin
        goal = state if self.policy.shapes.goal == self.observation else np.zeros(self.policy.shapes.goal)
        for _ in range(3):
            policy.act_chunk(state, goal)


class Session:
    """One client: its policy's state, the goals it can name, and its limits."""

    def __init__(
        self, served: Served, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        """`clock` measures durations, `wall` compares the time with that of the client."""
        self.served, self.policy, self.limits, self.goals = served, served.policy.copy(), served.limits, served.goals()
        self.inputs, self.limiter = served.description.inputs, ActionLimiter(served.limits, served.policy.shapes.levels)
        self.metadata = served.metadata(self.goals)
        self.clock, self.wall, self.rate = clock, wall, Rate(served.limits.max_rate, clock())

    def answer(self, data: bytes | str) -> dict[str, Any]:
        """The answer to a message; raises MvlError, one sentence for the client, if it is not answered."""
        began = self.clock()
        if not self.rate.allows(began):
            raise UsageError(f"more than {self.limits.max_rate:g} messages in a second; send fewer.")
        message = unpack(data)
        if message.get("reset") is True:
            self.policy.reset()
            self.limiter.reset()
            return {"reset": True}
        answer = self._act(message)
        return {**answer, "server_timing": {"infer_ms": 1000 * (self.clock() - began)}}

    def _act(self, message: dict[str, Any]) -> dict[str, Any]:
        self.limits.check_age(message.get("timestamp"), self.wall())
        observation, goal = self._observation(message), self._goal(message)
        distance, inside = self._place(observation)
        act = self.policy.act_chunk if self.served.chunks else self.policy.act
        wanted = np.atleast_2d(act(observation, goal)).astype(np.float32)  # (steps, a)
        if not np.isfinite(wanted).all():
            raise MvlError("the policy's action is not finite; train it again.")
        actions = self.limiter(wanted)
        limited, reachable = bool((actions != wanted).any()), self.policy.reachable
        return {"actions": actions, "in_distribution": inside, "distance": distance, "limited": limited, "reachable": reachable}

    def _observation(self, message: dict[str, Any]) -> Entry:
        signals = self.inputs.signals
        found = entry(message, "observation", signals.observations if signals else ())
        if found is None:
            raise UsageError("the message has no observation; send one as `observation` or `observation/state`.")
        return found

    def _place(self, observation: Entry) -> tuple[float | None, bool | None]:
        """How far an observation is outside the range of the data, and whether that counts as inside; None if not known."""
        state = vector(observation, "observation", self.served.observation, self.inputs)
        if self.served.ranges is None:
            return None, None
        distance = self.served.ranges.distance(state)
        inside = distance <= self.limits.margin
        if self.limits.strict and not inside:
            raise UsageError(f"the observation is {distance:.3g} standard deviations outside the range of the training data.")
        return distance, inside

    def _goal(self, message: dict[str, Any]) -> Entry:
        """The goal that the message has, or else names."""
        signals, prompt = self.inputs.signals, message.get("prompt")
        given = entry(message, "goal", (signals.goals or signals.observations) if signals else ())
        if given is not None:
            vector(given, "goal", self.policy.shapes.goal, self.inputs)
            return given
        if not isinstance(prompt, str):
            raise UsageError("the message has no goal; send an array as `goal`, or the name of one as `prompt`.")
        return find_goal(self.goals, prompt)
