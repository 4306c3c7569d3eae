"""A run's policy and value from the units of the source to actions in them, as networks of ONNX."""

from functools import partial
from typing import NamedTuple

import numpy as np

from mvl.data.normalization import Moments
from mvl.data.signals import stored_size
from mvl.deploy.export import parts, values
from mvl.deploy.export.network import FLOAT, INTEGER, Encode, Network, Tensor
from mvl.learn.learner import Learner, Parameters
from mvl.nets.heads import Binary, Categorical, Part
from mvl.runs.folder import Description
from mvl.types import CountsSteps, offered


class Trained(NamedTuple):
    """What is exported: the policy and the value of one seed of a run."""

    description: Description
    learner: Learner
    params: Parameters
    """As arrays of NumPy."""

    @property
    def history(self) -> int:
        return self.learner.recipe.learning.history

    def size(self, what: str) -> int:
        """Numbers of one observation or goal as the source has it, where an angle is one."""
        periods = self.periods(what)
        return len(periods) if any(periods) else self.stored_size(what)

    def stored_size(self, what: str) -> int:
        shapes = self.learner.shapes
        return shapes.goal if what == "goal" else shapes.observation // self.history

    def periods(self, what: str) -> list[float]:
        """A full turn of each dimension that is an angle stored as sine and cosine, 0 for others; none without names."""
        source = self.description.inputs.dimensions(what)
        return [one.period for one in source] if stored_size(source) == self.stored_size(what) else []

    def dtype(self, what: str) -> type[np.floating]:
        """Type in which what the source has is precise enough: float64 where something is done before it becomes float32."""
        return np.float64 if self.description.inputs.dtype == np.float64 or any(self.periods(what)) else np.float32


def policy_network(trained: Trained) -> tuple[Network, Tensor]:
    """Operations from `observation` (batch, history d) and `goal` (batch, g) to actions (batch, steps, a)."""
    network = Network()
    found = _outputs(network, trained, *_inputs(network, trained))
    return network, _original(network, trained, _actions(network, trained, found))


def value_network(trained: Trained) -> tuple[Network, dict[str, Tensor]]:
    """Operations to `value` (rows, 1), and `steps` if it counts them; one observation may meet many goals or the other way."""
    network, recipe = Network(), trained.learner.recipe
    states, goals = _inputs(network, trained)
    represented = _encode(network, trained, "value_noise")(states, goals)
    action = lambda: _vectors(network, trained, _outputs(network, trained, states, goals))
    found = {"value": values.value(recipe.value, network, trained.params.value, states, represented, action)}
    if isinstance(recipe.value, CountsSteps):
        found["steps"] = values.steps(recipe.value, network, found["value"], recipe.learning.discount)
    return network, found


def has_value(trained: Trained) -> bool:
    return bool(offered(trained.learner.recipe.value))


def _inputs(network: Network, trained: Trained) -> tuple[Tensor, Tensor]:
    """Observations and goals in the form and the units of the networks."""
    inputs, scale = trained.description.inputs, trained.learner.normalization
    moments = (None, None) if scale is None else (scale.observations, scale.goals)
    states = _standardized(network, _data(network, trained, "observation", inputs.origin, trained.history), moments[0])
    return states, _standardized(network, _data(network, trained, "goal", inputs.goal_origin, 1), moments[1])


def _data(network: Network, trained: Trained, what: str, origin: tuple[float, ...] | None, count: int) -> Tensor:
    """Observations, `count` of them side by side, or goals as the data has them, in float32."""
    dtype, periods = trained.dtype(what), count * trained.periods(what)
    found = network.given(what, count * trained.size(what), dtype)
    if any(periods):
        turns = network.constant([2 * np.pi / period if period else 0.0 for period in periods], dtype)
        angles, size = network.add("Mul", found, turns), len(periods)
        every = network.beside(found, network.add("Sin", angles), network.add("Cos", angles))
        places = [[size + i, 2 * size + i] if period else [i] for i, period in enumerate(periods)]
        found = network.columns(every, [place for pair in places for place in pair])
    if origin is not None:
        found = network.add("Sub", found, network.constant(np.tile(origin, count), dtype))
    return found if dtype == np.float32 else network.add("Cast", found, to=FLOAT)


def _standardized(network: Network, rows: Tensor, moments: Moments | None) -> Tensor:
    if moments is None:
        return rows
    mean, std = (network.constant(np.tile(numbers, rows.size // len(numbers))) for numbers in moments)
    return network.add("Div", network.add("Sub", rows, mean), std)


def _encode(network: Network, trained: Trained, noise: str) -> Encode:
    part, params = trained.learner.recipe.representation, trained.params.representation
    return lambda states, goals: parts.represented(part, network, params, states, goals, noise)


def _outputs(network: Network, trained: Trained, states: Tensor, goals: Tensor) -> Tensor:
    recipe = trained.learner.recipe
    view = parts.View(
        _encode(network, trained, "goal_noise"),
        partial(parts.projected, recipe.representation, network),
        partial(values.critics, recipe.value, network, trained.params.value),
        lambda: np.asarray(trained.learner.head.every_action()),
    )
    return parts.outputs(recipe.policy, network, trained.params.policy, states, goals, view)


def _columns_of(network: Network, part: Part, outputs: Tensor) -> Tensor:
    chosen = range(*part.numbers.indices(outputs.size))
    return outputs if len(chosen) == outputs.size else network.columns(outputs, chosen)


def _clipped(network: Network, numbers: Tensor) -> Tensor:
    return network.add("Clip", numbers, network.constant(-1.0), network.constant(1.0))


def _actions(network: Network, trained: Trained, outputs: Tensor) -> Tensor:
    """The most likely actions of the data, (batch, steps, a), in which discrete dimensions are indices of levels."""
    head, found = trained.learner.head, []
    size = outputs.size // head.chunk
    steps = network.add("Reshape", outputs, network.constant([-1, head.chunk, size], np.int64), size=size)
    for part in head.parts:
        numbers = _columns_of(network, part, steps)
        if isinstance(part.kind, Binary):
            found.append(network.add("Cast", network.add("Greater", numbers, network.constant(0.0)), to=FLOAT))
        elif isinstance(part.kind, Categorical):
            found.append(network.add("Cast", network.add("ArgMax", numbers, size=1, axis=-1, keepdims=1), to=FLOAT))
        else:
            found.append(_clipped(network, numbers))
    return network.beside(*found)


def _vectors(network: Network, trained: Trained, outputs: Tensor) -> Tensor:
    """The most likely actions as critics get them, (rows, n); of a chunk the first."""
    head, found = trained.learner.head, []
    first = network.columns(outputs, range(outputs.size // head.chunk)) if head.chunk > 1 else outputs
    for part in head.parts:
        numbers = _columns_of(network, part, first)
        if isinstance(part.kind, Binary):
            upper = network.add("Greater", numbers, network.constant(0.0))
            found.append(network.add("Where", upper, network.constant(1.0), network.constant(-1.0), size=numbers.size))
        elif isinstance(part.kind, Categorical):
            level = network.add("ArgMax", numbers, axis=-1, keepdims=0)
            found.append(network.add("Gather", network.constant(np.eye(part.kind.levels)), level, axis=0))
        else:
            found.append(_clipped(network, numbers))
    return network.beside(*found)


def _original(network: Network, trained: Trained, actions: Tensor) -> Tensor:
    """As `ActionUnits.original`."""
    units, scaled = trained.description.action_units, actions
    if units.limits is not None:
        low, high = np.asarray(units.limits, np.float32)
        share = network.add("Mul", network.add("Add", actions, network.constant(1.0)), network.constant(0.5))
        scaled = network.add("Add", network.add("Mul", share, network.constant(high - low)), network.constant(low))
    if not units.levels:
        return scaled
    pieces = []
    for dimension, levels in enumerate(units.levels):
        if levels:
            index = network.add("Cast", network.columns(actions, [dimension]), to=INTEGER)
            pieces.append(network.add("Gather", network.constant(levels), index, size=1, axis=0))
        else:
            pieces.append(network.columns(scaled, [dimension]))
    return network.beside(*pieces)
