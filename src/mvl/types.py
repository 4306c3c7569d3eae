"""Types that the parts share: value surfaces, losses, and the protocol of each axis.

Optional capabilities are protocols too (`Projects`, `FitsData`, ...): a part has a capability if it has its methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

from mvl.batches import Batch, BatchRequest, GoalMix

if TYPE_CHECKING:  # commands on data import this file too, and need not wait for JAX
    from jax import Array

Key: TypeAlias = "Array"
Params: TypeAlias = Any
Metrics: TypeAlias = dict[str, "Array"]
Loss: TypeAlias = "tuple[Array, Metrics]"

Encode: TypeAlias = Callable[["Array", "Array"], "Array"]
"""States (..., d) and goals (..., g) -> represented goals (..., k), which may depend on the states."""


ImageShape: TypeAlias = tuple[int, int, int]
"""Height, width and channels."""


class Shapes(NamedTuple):
    """Sizes that a part needs to initialize its parameters."""

    observation: int
    action: int
    """Length of an action as a vector, in which a discrete dimension of more than two levels is one-hot (`mvl.nets.heads`)."""
    goal: int
    """Length of a raw goal."""
    represented: int = 0
    """Length of a represented goal."""
    plain: bool = True
    """Whether a represented goal is the goal state itself."""
    levels: tuple[int, ...] = ()
    """How many levels each dimension of an action has, 0 for a continuous one; empty: all are continuous."""
    chunk: int = 1
    """How many successive actions the policy answers at once."""
    image: ImageShape | None = None
    """Shape of an observation and of a goal, if these are images, whose bytes are then one vector; None: they are numbers."""

    @property
    def outputs(self) -> int:
        """Outputs of a policy's network."""
        return self.action * self.chunk


class Statistics(NamedTuple):
    """Statistics of the whole dataset, from which a part may compute settings before training."""

    std: tuple[float, ...]
    """Standard deviation of each observation dimension."""
    step: float
    """Median Euclidean length of one step, in raw units."""
    scaled_step: float
    """Median Euclidean length of one step, each dimension divided by its standard deviation."""


class Field(NamedTuple):
    """A value surface V(., goal) and the points at which a regularizer evaluates it.

    It hides ensembles and representations (the goal is encoded again at each point if its representation depends on the
    state), so that a regularizer works with every value and representation.
    """

    at: Callable[[Array, Array], Array]  # points (..., d), goals broadcastable to (..., k) -> (heads, ...)
    points: Array  # (batch, d), or (few, 1, d) for a few points that are each evaluated for every goal
    goals: Array  # (batch, k)
    values_at_points: Array | None = None  # (heads, batch) values at the points, if already computed
    target_at: Callable[[Array, Array], Array] | None = None  # the surface of the target networks, if there are any

    @property
    def here(self) -> Array:
        """Values at the points themselves."""
        return self.at(self.points, self.goals) if self.values_at_points is None else self.values_at_points

    @property
    def paired(self) -> bool:
        """Whether point i is evaluated for goal i alone, rather than for every goal."""
        return self.points.ndim == self.goals.ndim

    def part(self, fraction: float) -> Field:
        """The first `fraction` of the points with their goals (batches are in random order); unchanged if not `paired`."""
        if not self.paired:
            return self
        count = math.ceil(fraction * self.points.shape[0])
        values = None if self.values_at_points is None else self.values_at_points[:, :count]
        return self._replace(points=self.points[:count], goals=self.goals[:count], values_at_points=values)


class ActionHead(Protocol):
    """The distribution of actions that the outputs (..., n) of a policy's network stand for.

    Actions are vectors (..., a), or (..., steps, a) if the policy answers chunks.
    """

    def log_prob(self, outputs: Array, batch: Batch) -> Array:
        """Log-probability of the logged actions, (batch,); of a chunk the mean over its steps."""

    def error(self, outputs: Array, batch: Batch) -> Array:
        """How far the most likely actions are from the logged ones, ()."""

    def sample(self, key: Key, outputs: Array, temperature: Array) -> Array:
        """Actions drawn at a temperature; at 0, the most likely ones."""

    def expected(self, outputs: Array) -> Array:
        """Mean actions, which depend smoothly on the outputs."""

    def logged(self, batch: Batch) -> Array:
        """The logged actions in the order of the outputs, (batch, n)."""

    def mean(self, numbers: Array, batch: Batch) -> Array:
        """Mean of one number per output, (batch, n), over the steps of chunks that the episodes have."""

    def in_steps(self, outputs: Array) -> Array:
        """Numbers in the order of the outputs as actions."""

    def every_action(self) -> Array:
        """All actions, (n, a), of one discrete dimension."""


Act: TypeAlias = Callable[["Array", "Array"], "Array"]
"""States (..., d) and raw goals (..., g) -> the policy's actions as vectors, without gradient."""


class ValueFunctions(NamedTuple):
    """Functions that a value offers to a policy, with constant parameters; None for those it does not offer."""

    advantage: Callable[[Batch, Array, Encode], Array] | None  # batch, raw goals (batch, g), encoder -> (batch,)
    critic: Callable[[Array, Array, Array], Array] | None  # states, actions, represented goals -> (heads, ...)
    state_value: Callable[[Array, Array], Array] | None  # states, represented goals -> (heads, ...)


class PolicyView(NamedTuple):
    """What a policy uses of the rest, with parameters and random key bound."""

    encode: Encode
    project: Callable[[Array], Array]  # any vector -> the nearest represented goal
    head: ActionHead
    value: ValueFunctions = ValueFunctions(None, None, None)
    """For policies that ask the value while they act."""


def offered(value: object) -> frozenset[str]:
    """Names of the value functions that a value, or its class, has a method for."""
    return frozenset(name for name in ValueFunctions._fields if hasattr(value, name))


class Representation(Protocol):
    """Axis 1: how a goal is represented for the value and the policy. Optional capabilities: `Projects`, `HasSurface`."""

    request: ClassVar[BatchRequest]
    shaped_by_value: ClassVar[bool]
    """Whether the value loss and the regularizer train it."""
    looks_at_state: ClassVar[bool]
    """Whether a represented goal depends on the state."""

    def width(self, goal: int) -> int:
        """Length of a represented goal, given the length of a raw goal."""

    def init(self, key: Key, shapes: Shapes) -> Params: ...

    def targets(self, params: Params) -> Params:
        """The part of the parameters that has target networks; `()` for none."""

    def encode(self, params: Params, states: Array, goals: Array, key: Key) -> Array: ...

    def loss(self, params: Params, targets: Params, batch: Batch, key: Key) -> Loss: ...


@runtime_checkable
class Projects(Protocol):
    """A representation whose goals are a subset of their vector space, onto which any vector can be projected."""

    def project(self, guesses: Array) -> Array: ...


@runtime_checkable
class HasSurface(Protocol):
    """A representation with a value surface of its own, to which a regularizer can be applied."""

    regularized: str
    """Which surface is regularized: the value's (`downstream`), the representation's (`own`), or `both`."""

    def surface(self, params: Params, batch: Batch) -> Field: ...


@runtime_checkable
class EncodesImages(Protocol):
    """An encoder: what networks get in place of images. An encoder without these methods leaves observations as they are."""

    size: int
    """Length of a latent vector."""
    fusion: str
    """`early`: an observation is encoded together with its goal; `late`: every image alone."""
    augment: float
    """Probability that the images of a batch are shifted at random."""
    shaped_by_regularizer: bool
    """Whether the regularizer trains it."""

    def init(self, key: Key, shape: ImageShape) -> Params: ...

    def encode(self, params: Params, images: Array) -> Array:
        """Latent vectors (n, size) of images (n, height, width, channels) of bytes."""

    def operations(self, shape: ImageShape) -> float:
        """Floating-point operations for one image, roughly."""


class Regularizer(Protocol):
    """Axis 2: a penalty on the geometry of the value surface."""

    def __call__(self, field: Field, key: Key) -> Loss: ...


@runtime_checkable
class FitsData(Protocol):
    """A regularizer with settings that are computed from the data."""

    def fit(self, statistics: Statistics) -> Regularizer: ...


class Value(Protocol):
    """Axis 3: how a value is learned.

    It has a method for each of the `ValueFunctions` that it offers, which takes the parameters as first argument.
    """

    goal_mix: ClassVar[GoalMix]
    """Distribution of the goals it is trained on, unless `Learning.value_goals` is set."""
    request: ClassVar[BatchRequest]
    crosses_goals: ClassVar[bool]
    """Whether it evaluates every state of a batch with every goal, so that represented goals must not depend on states."""
    target_surface: ClassVar[bool]
    """Whether all of its parameters have a target network, so that its surface has one; a value that does not say so has none."""

    def init(self, key: Key, shapes: Shapes) -> Params: ...

    def targets(self, params: Params) -> Params: ...

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss: ...


@runtime_checkable
class Regresses(Protocol):
    """A value whose loss accepts precomputed V(s, z), so that the regularizer can share the forward pass."""

    def state_value(self, params: Params, states: Array, goals: Array) -> Array: ...

    def regress(self, values: Array, params: Params, targets: Params, batch: Batch, encode: Encode) -> Loss:
        """The loss, with V(s, z) of the batch's states and value goals, (heads, batch)."""


@runtime_checkable
class CountsSteps(Protocol):
    """A value whose numbers can be turned into steps to the goal, which a planner needs."""

    def steps_to_go(self, values: Array, discount: float) -> Array:
        """Steps to the goal, given what the state value or the critic says."""


@runtime_checkable
class ComparesActions(Protocol):
    """A value or a policy that compares all actions, which needs data with one discrete action dimension."""

    compares_actions: ClassVar[bool]


class Policy(Protocol):
    """Axis 4: how a policy is extracted from a value."""

    needs: ClassVar[frozenset[str]]
    """Names of the `ValueFunctions` that the value must offer."""
    discrete: ClassVar[bool]
    """Whether it can have discrete actions; a policy that does not say so has continuous ones only."""
    chunks: ClassVar[bool]
    """Whether it can answer chunks of actions; a policy that does not say so answers one at a time."""

    @property
    def request(self) -> BatchRequest: ...

    def init(self, key: Key, shapes: Shapes) -> Params: ...

    def loss(self, params: Params, value: ValueFunctions, batch: Batch, view: PolicyView, key: Key) -> Loss: ...

    def act(self, params: Params, states: Array, goals: Array, view: PolicyView, key: Key, temperature: Array) -> Array:
        """Actions as vectors (..., a), or (..., steps, a) in chunks, for states (..., d) and raw goals (..., g)."""
