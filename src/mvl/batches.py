"""What a training batch holds: transitions, their goals, and what single parts request besides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mvl.checks import UNIT, check_settings
from mvl.errors import UsageError

if TYPE_CHECKING:  # commands on data import this file too, and need not wait for JAX
    from jax import Array


@dataclass(frozen=True)
class GoalMix:
    """Distribution of the goals that one loss is trained on; the three shares sum to 1."""

    current: float = 0.2
    """Share of goals that are the current state."""
    trajectory: float = 0.5
    """Share of goals from the rest of the same episode."""
    random: float = 0.3
    """Share of goals from anywhere in the data."""
    geometric: bool = True
    """Draw goals of the same episode geometrically (on average 1 / (1 - discount) steps ahead) instead of uniformly."""

    def __post_init__(self) -> None:
        check_settings(self, current=UNIT, trajectory=UNIT, random=UNIT)
        shares = (self.current, self.trajectory, self.random)
        if abs(sum(shares) - 1) > 1e-6:
            raise UsageError(f"goal shares must sum to 1, not {shares}.")


@dataclass(frozen=True)
class BatchRequest:
    """What a part needs in a batch in addition to transitions with their goals; sampled only if a part requests it."""

    goals: GoalMix | None = None
    """Distribution of separate goals for the representation, if it needs them."""
    reuse_value_goals: bool = False
    """Reuse the value's goals if they include current-state goals; otherwise sample separate ones."""
    windows: bool = False
    """Whether `Windows` are needed."""
    midpoints: bool = False
    """Whether `Midpoints` are needed."""
    waypoint_steps: int = 0
    """How many steps ahead `Waypoints` are needed; 0: none."""
    chunk: int = 1
    """How many actions an `ActionChunk` has; 1: none is needed."""


class Goals(NamedTuple):
    """One goal for each transition of a batch, and the transition's reward for it."""

    vectors: Array  # (batch, g) raw goals, before a representation: whole states, or oracle goals computed from them
    states: Array  # (batch, d) the goals as whole states
    rewards: Array  # (batch,) 0 where the goal is the current state, otherwise -1
    masks: Array  # (batch,) 0 where the goal is the current state, otherwise 1
    offsets: Array  # (batch,) goal row minus own row: 0 is the current state, 1 the next; others may lie in another episode

    def mapped(self, change: Callable[[Array], Array]) -> Goals:
        """The same goals, described by what a function makes of them."""
        return self._replace(vectors=change(self.vectors), states=change(self.states))


class Windows(NamedTuple):
    """Four rows of one episode as goals, in temporal order; `there` is the successor of `here`."""

    start: Array  # (batch, g)
    here: Array
    there: Array
    end: Array


class Midpoints(NamedTuple):
    """For each transition, a state between it and its value goal (never the goal itself), and the action logged in it."""

    states: Array  # (batch, d)
    actions: Array  # (batch, a)
    offsets: Array  # (batch,) steps from the transition


class Waypoints(NamedTuple):
    """States some steps ahead of each transition."""

    near: Array  # (batch, g) as goals: along the episode
    onward: Array  # (batch, g) as goals: the same, but not beyond the actor goal if that lies ahead in the episode
    onward_states: Array  # (batch, d) `onward` as states


class ActionChunk(NamedTuple):
    """For each transition the actions logged from it on, and the state that they lead to."""

    actions: Array  # (batch, steps, a) after the end of the episode the last one again
    valid: Array  # (batch, steps) whether the episode has this step
    after: Array  # (batch, d) not beyond the last state of the episode, nor beyond a goal that lies ahead in it


class Batch(NamedTuple):
    """Transitions, each with a goal for the value and one for the policy, drawn independently."""

    observations: Array  # (batch, d)
    actions: Array  # (batch, a)
    next_observations: Array  # (batch, d)
    positions: Array  # (batch, g) the observations as raw goals
    value_goals: Goals
    actor_goals: Goals
    discount: Array  # () the discount that the goals were drawn with
    representation_goals: Goals | None = None
    """Drawn for the representation alone, if requested."""
    windows: Windows | None = None
    """Drawn independently of the transitions, if requested."""
    midpoints: Midpoints | None = None
    waypoints: Waypoints | None = None
    chunk: ActionChunk | None = None

    def mapped(self, change: Callable[[Array], Array]) -> Batch:
        """The batch with a function applied to every state and every goal."""
        own, middle, ways, chunk = self.representation_goals, self.midpoints, self.waypoints, self.chunk
        return self._replace(
            observations=change(self.observations),
            next_observations=change(self.next_observations),
            positions=change(self.positions),
            value_goals=self.value_goals.mapped(change),
            actor_goals=self.actor_goals.mapped(change),
            representation_goals=own and own.mapped(change),
            windows=self.windows and Windows(*map(change, self.windows)),
            midpoints=middle and middle._replace(states=change(middle.states)),
            waypoints=ways and Waypoints(*map(change, ways)),
            chunk=chunk and chunk._replace(after=change(chunk.after)),
        )
