"""What flows between the parts: batches, value fields, losses; and what each axis promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

from mvl.errors import UsageError

if TYPE_CHECKING:  # data tools read this file too, and need not wait for JAX
    from jax import Array

Key: TypeAlias = "Array"
Params: TypeAlias = Any
Metrics: TypeAlias = dict[str, "Array"]
Loss: TypeAlias = "tuple[Array, Metrics]"

Encode: TypeAlias = Callable[["Array"], "Array"]
"""States (..., d) -> the goals of a batch as represented for someone standing there (..., k)."""


@dataclass(frozen=True)
class Stream:
    """Where the goals of one loss come from; the three shares sum to one."""

    current: float = 0.2
    """Share of goals that are the current state."""
    trajectory: float = 0.5
    """Share of goals from the rest of the same episode."""
    random: float = 0.3
    """Share of goals from anywhere in the data."""
    geometric: bool = True
    """Episode goals lie a geometric number of steps ahead (mean 1 / (1 - discount)), otherwise uniformly."""

    def __post_init__(self) -> None:
        shares = (self.current, self.trajectory, self.random)
        if min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
            raise UsageError(f"goal shares must be at least 0 and sum to 1, not {shares}.")


class Goals(NamedTuple):
    """Goals drawn for a batch of transitions, and what a step pays on the way to them."""

    states: Array  # (batch, k)
    rewards: Array  # (batch,) 0 where the goal is the current state, otherwise -1
    masks: Array  # (batch,) 0 where the goal is the current state, otherwise 1


class Windows(NamedTuple):
    """Four states of one episode in the order of time; `there` comes right after `here`."""

    start: Array  # (batch, d)
    here: Array
    there: Array
    end: Array


class Batch(NamedTuple):
    """Transitions with one goal from each stream, drawn independently."""

    observations: Array  # (batch, d)
    actions: Array  # (batch, a)
    next_observations: Array  # (batch, d)
    value_goals: Goals
    actor_goals: Goals
    discount: Array  # (): the discount these goals were drawn with
    representation_goals: Goals | None = None
    """A draw of its own, for representations that ask for one."""
    windows: Windows | None = None
    """Independent of the transitions, for representations that ask for them."""


class Shapes(NamedTuple):
    """Sizes a part needs to make its parameters."""

    observation: int
    action: int
    goal: int
    """Length of a goal as this part sees it: represented, for values and policies."""


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

    @property
    def paired(self) -> bool:
        """Whether point i belongs to goal i alone."""
        return self.points.ndim == self.goals.ndim


class Judge(NamedTuple):
    """A value as a policy may use it: constant parameters, only what the value offers."""

    advantage: Callable[[Batch, Encode], Array] | None  # -> (batch,)
    critic: Callable[[Array, Array, Array], Array] | None  # states, actions, goals -> (heads, batch)


class Representation(Protocol):
    """Axis 1: what the learner is told about a goal."""

    shaped_by_value: ClassVar[bool]
    """May the value loss (and the regularizer) train it?"""
    stream: ClassVar[Stream | None]
    """Goals it needs in `batch.representation_goals`, if any."""
    windows: ClassVar[bool]
    """Whether it needs `batch.windows`."""

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
    """Axis 3: how a value is learned."""

    offers: ClassVar[frozenset[str]]
    """Which of `field`, `advantage` and `critic` it has."""

    def init(self, key: Key, shapes: Shapes) -> Params: ...

    def targets(self, params: Params) -> Params: ...

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode) -> Loss: ...


class HasField(Value, Protocol):
    """A value with a surface V(state, goal)."""

    def at(self, params: Params, states: Array, goals: Array) -> Array:
        """V(states, goals), a leading axis over the heads."""
        ...


class Policy(Protocol):
    """Axis 4: how a policy is drawn from a value."""

    needs: ClassVar[frozenset[str]]
    """What the value must offer."""

    def init(self, key: Key, shapes: Shapes) -> Params: ...

    def loss(self, params: Params, judge: Judge, batch: Batch, encode: Encode, key: Key) -> Loss: ...

    def act(self, params: Params, states: Array, goals: Array, key: Key, temperature: Array) -> Array: ...
