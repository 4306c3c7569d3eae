"""The conversation with one client of a policy server: from the bytes of an observation to an answer with actions."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mvl import __version__
from mvl.deploy.goals import Goals, find_goal, load_goals
from mvl.deploy.limits import ActionLimiter, Limits, Ranges, Rate
from mvl.deploy.messages import part, unpack, vector
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

    def __post_init__(self) -> None:
        self.limits.check_dimensions(self.policy.shapes.action)
        if self.limits.strict and self.ranges is None:
            raise UsageError(f"{self.run} does not say what range its data had, which --strict needs; train it again.")

    @cached_property
    def ranges(self) -> Ranges | None:
        return Ranges.of_run(self.description.data)

    def goals(self) -> Goals:
        """The named goals as they are now."""
        return load_goals(self.run, self.policy.shapes.goal)

    def metadata(self, goals: Goals) -> dict[str, Any]:
        """What a client is told first."""
        shapes, data = self.policy.shapes, self.description.data
        return {
            "protocol": PROTOCOL,
            "server": f"mvl {__version__}",
            "run": self.run.resolve().name,
            "task": self.description.experiment.task.label,
            "recipe": self.description.experiment.recipe_name,
            "observation_size": shapes.observation,
            "goal_size": shapes.goal,
            "action_size": shapes.action,
            "action_horizon": 1,
            "action_range": data.get("action_range") or [[-1.0] * shapes.action, [1.0] * shapes.action],
            "goals": sorted(goals),
        }

    def warm_up(self) -> None:
        """Compile what answers need, so that the first client does not wait for it."""
        state = np.zeros(self.policy.shapes.observation) if self.ranges is None else (self.ranges.low + self.ranges.high) / 2
        shared = min(self.policy.shapes.observation, self.policy.shapes.goal)
        goal = np.zeros(self.policy.shapes.goal)
        goal[:shared] = state[:shared]
        policy = self.policy.copy()
        for _ in range(3):
            policy.act(state, goal)


class Session:
    """One client: its policy's state, the goals it can name, and its limits."""

    def __init__(
        self, served: Served, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        """`clock` measures durations, `wall` compares the time with that of the client."""
        self.policy, self.limits, self.goals = served.policy.copy(), served.limits, served.goals()
        self.metadata = served.metadata(self.goals)
        self.ranges, self.limiter = served.ranges, ActionLimiter(served.limits)
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
        given = part(message, "observation")
        if given is None:
            raise UsageError("the message has no observation; send one as `observation` or `observation/state`.")
        observation = vector(given, "observation", self.policy.shapes.observation)
        goal = self._goal(message)
        distance = None if self.ranges is None else self.ranges.distance(observation)
        inside = None if distance is None else distance <= self.limits.margin
        if self.limits.strict and not inside:
            raise UsageError(f"the observation is {distance:.3g} standard deviations outside the range of the training data.")
        wanted = self.policy.act(observation, goal)[None]
        if not np.isfinite(wanted).all():
            raise MvlError("the policy's action is not finite; train it again.")
        actions = self.limiter(wanted)
        limited = bool((actions != wanted).any())
        reachable = self.policy.reachable
        return {"actions": actions, "in_distribution": inside, "distance": distance, "limited": limited, "reachable": reachable}

    def _goal(self, message: dict[str, Any]) -> np.ndarray:
        """The goal that the message has, or else names."""
        given, prompt = part(message, "goal"), message.get("prompt")
        if given is not None:
            return vector(given, "goal", self.policy.shapes.goal)
        if not isinstance(prompt, str):
            raise UsageError("the message has no goal; send an array as `goal`, or the name of one as `prompt`.")
        return find_goal(self.goals, prompt)
