"""What flows between the parts: batches, value fields, losses; and what each axis promises.

A part has an optional capability if it has the methods of it: that is the one way in which a part says what it can do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

from mvl.checks import UNIT, check_fields
from mvl.errors import UsageError

if TYPE_CHECKING:  # data tools read this file too, and need not wait for JAX
    from jax import Array

Key: TypeAlias = "Array"
Params: TypeAlias = Any
Metrics: TypeAlias = dict[str, "Array"]
Loss: TypeAlias = "tuple[Array, Metrics]"

Encode: TypeAlias = Callable[["Array", "Array"], "Array"]
"""States (..., d) and goals (..., g) -> those goals as represented for someone standing there (..., k)."""


@dataclass(frozen=True)
class GoalMix:
    """Distribution of the goals of one loss; the three shares sum to 1."""

    current: float = 0.2
    """Share of goals that are the current state."""
    trajectory: float = 0.5
    """Share of goals from the rest of the same episode."""
    random: float = 0.3
    """Share of goals from anywhere in the data."""
    geometric: bool = True
    """Draw goals of the same episode geometrically (on average 1 / (1 - discount) steps ahead) instead of uniformly."""

    def __post_init__(self) -> None:
        check_fields(self, current=UNIT, trajectory=UNIT, random=UNIT)
        shares = (self.current, self.trajectory, self.random)
        if abs(sum(shares) - 1) > 1e-6:
            raise UsageError(f"goal shares must sum to 1, not {shares}.")


@dataclass(frozen=True)
class BatchRequest:
    """What a part needs in a batch besides transitions with their goals; not sampled if no part requests it."""

    goals: GoalMix | None = None
    """Representation goals from this stream."""
    reuse_value_goals: bool = False
    """Reuse the value's goals if they include current-state goals; otherwise sample separate ones."""
    windows: bool = False
    midpoints: bool = False
    waypoint_steps: int = 0
    """Waypoints this many steps ahead."""


class Goals(NamedTuple):
    """Goals drawn for a batch of transitions, and what a step pays on the way to them."""

    vectors: Array  # (batch, g) the goals as the learner's input: whole states, or what an oracle says of them
    states: Array  # (batch, d) the whole state there
    rewards: Array  # (batch,) 0 where the goal is the current state, otherwise -1
    masks: Array  # (batch,) 0 where the goal is the current state, otherwise 1
    offsets: Array  # (batch,) rows from here to there: 0 is this very state and 1 the next, others may lead anywhere


class Windows(NamedTuple):
    """Four goals of one episode in the order of time; `there` comes right after `here`."""

    start: Array  # (batch, g)
    here: Array
    there: Array
    end: Array


class Midpoints(NamedTuple):
    """A state on the way from each transition to its value goal, not the goal itself; and what was done there."""

    states: Array  # (batch, d)
    actions: Array  # (batch, a)
    offsets: Array  # (batch,) steps from the transition


class Waypoints(NamedTuple):
    """States some steps ahead of each transition."""

    near: Array  # (batch, g) as goals: along the episode
    onward: Array  # (batch, g) as goals: on the way to the actor goal, where that lies ahead in the episode
    onward_states: Array  # (batch, d) the same as states


class Batch(NamedTuple):
    """Transitions with one goal from each stream, drawn independently."""

    observations: Array  # (batch, d)
    actions: Array  # (batch, a)
    next_observations: Array  # (batch, d)
    positions: Array  # (batch, g) the observations as a goal would tell them
    value_goals: Goals
    actor_goals: Goals
    discount: Array  # (): the discount these goals were drawn with
    representation_goals: Goals | None = None
    """A draw of its own."""
    windows: Windows | None = None
    """Independent of the transitions."""
    midpoints: Midpoints | None = None
    waypoints: Waypoints | None = None


class Shapes(NamedTuple):
    """Sizes a part needs to make its parameters."""

    observation: int
    action: int
    goal: int
    """Length of a goal as the data has it."""
    represented: int = 0
    """Length of a represented goal."""
    plain: bool = True
    """Whether a represented goal is simply the state to be reached."""


class Statistics(NamedTuple):
    """What a part may learn from the whole dataset before training starts."""

    spread: tuple[float, ...]
    """Standard deviation of each observation dimension."""
    step: float
    """Median length of one step, in raw units."""
    scaled_step: float
    """Median length of one step, each dimension in units of its spread."""


class Field(NamedTuple):
    """A value surface V(., goal) and the points a regularizer may look at.

    It hides ensembles, pixels and representations (it encodes the goal again where the representation
    looks at the state), so a regularizer never knows which agent it serves.
    """

    at: Callable[[Array, Array], Array]  # points (..., d), goals broadcastable to (..., k) -> (heads, ...)
    points: Array  # (batch, d), or (few, 1, d) for a few points that are each asked about every goal
    goals: Array  # (batch, k)
    values_at_points: Array | None = None  # (heads, batch) values at the points, if already computed
    target_at: Callable[[Array, Array], Array] | None = None  # the surface of the slowly moving copies, if there are any

    @property
    def here(self) -> Array:
        """Values at the points themselves."""
        return self.at(self.points, self.goals) if self.values_at_points is None else self.values_at_points

    @property
    def paired(self) -> bool:
        """Whether point i belongs to goal i alone."""
        return self.points.ndim == self.goals.ndim

    def part(self, fraction: float) -> Field:
        """The first points with their goals, since a batch is in random order; unchanged if every point meets every goal."""
        if not self.paired:
            return self
        count = math.ceil(fraction * self.points.shape[0])
        values = None if self.values_at_points is None else self.values_at_points[:, :count]
        return self._replace(points=self.points[:count], goals=self.goals[:count], values_at_points=values)


class GoalView(NamedTuple):
    """A representation with its parameters and randomness bound: how a policy sees goals."""

    encode: Encode
    project: Callable[[Array], Array]  # any vector -> the nearest represented goal


Act: TypeAlias = Callable[["Array", "Array"], "Array"]
"""States (..., d) and goals as the data has them (..., g) -> the policy's own actions, constant."""


class ValueFunctions(NamedTuple):
    """What a value offers to a policy, with constant parameters; None for what it does not offer."""

    advantage: Callable[[Batch, Array, Encode], Array] | None  # batch, its goals (batch, g) -> (batch,)
    critic: Callable[[Array, Array, Array], Array] | None  # states, actions, represented goals -> (heads, ...)
    state_value: Callable[[Array, Array], Array] | None  # states, represented goals -> (heads, ...)


def offered(value: object) -> frozenset[str]:
    """Names of the value functions that a value, or its class, has a method for."""
    return frozenset(name for name in ValueFunctions._fields if hasattr(value, name))


class Representation(Protocol):
    """Axis 1: what the learner is told about a goal.

    It may also be one that `Projects`, or one that `HasSurface`.
    """

    request: ClassVar[BatchRequest]
    shaped_by_value: ClassVar[bool]
    """May the value loss (and the regularizer) train it?"""
    looks_at_state: ClassVar[bool]
    """Does a goal look different from different states?"""

    def width(self, goal: int) -> int:
        """Length of a represented goal, given the raw length."""
        ...

    def init(self, key: Key, shapes: Shapes) -> Params: ...

    def targets(self, params: Params) -> Params:
        """The parameters that have a slowly moving copy; `()` for none."""
        ...

    def encode(self, params: Params, states: Array, goals: Array, key: Key) -> Array: ...

    def loss(self, params: Params, targets: Params, batch: Batch, key: Key) -> Loss: ...


@runtime_checkable
class Projects(Protocol):
    """A representation whose goals do not fill their space: any vector can be projected onto them."""

    def project(self, guesses: Array) -> Array: ...


@runtime_checkable
class HasSurface(Protocol):
    """A representation with a value surface of its own, which a regularizer may be pointed at."""

    regularized: str
    """`downstream`: only the value's surface; `own`: only this one; `both`."""

    def surface(self, params: Params, batch: Batch) -> Field: ...


class Regularizer(Protocol):
    """Axis 2: what geometry is asked of the value surface."""

    def __call__(self, field: Field, key: Key) -> Loss: ...


@runtime_checkable
class FitsData(Protocol):
    """A regularizer with settings that come from the data."""

    def fit(self, statistics: Statistics) -> Regularizer: ...


class Value(Protocol):
    """Axis 3: how a value is learned.

    It has a method for each of the `ValueFunctions` that it offers, with its parameters first.
    """

    goal_mix: ClassVar[GoalMix]
    """Goals it is trained on, unless the learning says otherwise."""
    request: ClassVar[BatchRequest]
    crosses_goals: ClassVar[bool]
    """Does it meet every state of a batch with every goal, so that a goal must look the same from all of them?"""

    def init(self, key: Key, shapes: Shapes) -> Params: ...

    def targets(self, params: Params) -> Params: ...

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss: ...


@runtime_checkable
class Regresses(Protocol):
    """A value whose loss accepts precomputed V(s, z), so that the regularizer can share the forward pass."""

    def state_value(self, params: Params, states: Array, goals: Array) -> Array: ...

    def regress(self, values: Array, params: Params, targets: Params, batch: Batch, encode: Encode) -> Loss:
        """The loss, with V(s, z) of the batch's states and value goals, (heads, batch)."""
        ...


@runtime_checkable
class CountsSteps(Protocol):
    """A value whose numbers can be turned into steps to the goal, which a planner needs."""

    def steps_to_go(self, values: Array, discount: float) -> Array:
        """Steps to the goal, given what the state value or the critic says."""
        ...


class Policy(Protocol):
    """Axis 4: how a policy is drawn from a value."""

    needs: ClassVar[frozenset[str]]
    """What the value must offer."""

    @property
    def request(self) -> BatchRequest: ...

    def init(self, key: Key, shapes: Shapes) -> Params: ...

    def loss(self, params: Params, value: ValueFunctions, batch: Batch, view: GoalView, key: Key) -> Loss: ...

    def act(self, params: Params, states: Array, goals: Array, view: GoalView, key: Key, temperature: Array) -> Array:
        """Actions for goals as the data has them."""
        ...
