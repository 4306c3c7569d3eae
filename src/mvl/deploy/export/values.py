"""What values compute, as operations of ONNX: what a state is worth, an action, and steps to the goal."""

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

from mvl.deploy.export.network import DOUBLE, FLOAT, Network, Tensor, ensemble, mean_ensemble, mean_of_heads, mlp
from mvl.deploy.export.parts import Params, unknown_part
from mvl.nets.quasimetric import GROUP
from mvl.values.compositional import Compositional
from mvl.values.contrastive import Contrastive
from mvl.values.discrete_q import DiscreteQ
from mvl.values.implicit_q import ImplicitQ
from mvl.values.implicit_v import ImplicitV
from mvl.values.quasimetric import Quasimetric
from mvl.values.subgoal_tree import SubgoalTree
from mvl.values.transitive import Transitive


@singledispatch
def value(part: Any, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    """V of states and represented goals, or the critic at the policy's own action as a vector; (rows, 1)."""
    return mean_of_heads(network, critics(part, network, params, states, action(), goals))


@value.register
def _(part: ImplicitV, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    return mean_ensemble(network, params, states, goals)


@value.register
def _(part: ImplicitQ, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    return mean_ensemble(network, params.value, states, goals)


@value.register
def _(part: DiscreteQ, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    every, last = mean_ensemble(network, params, states, goals), network.constant([-1], np.int64)
    return network.add("ReduceMax", every, last, size=1, keepdims=1)


@value.register
def _(part: Quasimetric, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    return mean_of_heads(network, _nearness(network, params, mlp(network, params.embed, states), goals))


@singledispatch
def critics(part: Any, network: Network, params: Params, states: Tensor, actions: Tensor, goals: Tensor) -> list[Tensor]:
    """Q of states, actions as vectors and represented goals, (rows, 1) of each head."""
    raise unknown_part(part, "critics", "values")


@critics.register
def _(part: ImplicitQ, network: Network, params: Params, states: Tensor, actions: Tensor, goals: Tensor) -> list[Tensor]:
    return ensemble(network, params.critic, states, goals, actions)


@critics.register
def _(part: DiscreteQ, network: Network, params: Params, states: Tensor, actions: Tensor, goals: Tensor) -> list[Tensor]:
    every, last, one = mean_ensemble(network, params, states, goals), network.constant([-1], np.int64), network.constant(1.0)
    if actions.size == 1:
        pair = network.beside(network.add("Sub", one, actions, size=1), network.add("Add", one, actions, size=1))
        actions = network.add("Mul", pair, network.constant(0.5))
    return [network.add("ReduceSum", network.add("Mul", every, actions), last, size=1, keepdims=1)]


@critics.register(Transitive)
@critics.register(SubgoalTree)
@critics.register(Compositional)
def _(part: Any, network: Network, params: Params, states: Tensor, actions: Tensor, goals: Tensor) -> list[Tensor]:
    return ensemble(network, params.states if params.told is None else params.told, states, goals, actions)


@critics.register
def _(part: Contrastive, network: Network, params: Params, states: Tensor, actions: Tensor, goals: Tensor) -> list[Tensor]:
    here, there = ensemble(network, params.action, states, actions), ensemble(network, params.goal, goals)
    last, scale = network.constant([-1], np.int64), network.constant(np.sqrt(part.latent))
    products = [network.add("Mul", *pair) for pair in zip(here, there, strict=True)]
    found = [network.add("ReduceSum", product, last, size=1, keepdims=1) for product in products]
    return [network.add("Div", one, scale) for one in found]


@critics.register
def _(part: Quasimetric, network: Network, params: Params, states: Tensor, actions: Tensor, goals: Tensor) -> list[Tensor]:
    here = mlp(network, params.embed, states)
    after = network.add("Add", here, mlp(network, params.dynamics, here, actions))
    return _nearness(network, params, after, goals)


def _nearness(network: Network, params: Params, here: Tensor, goals: Tensor) -> list[Tensor]:
    """Minus the distance of embedded states to represented goals, of each head."""
    if params.distilled is not None:
        found = ensemble(network, params.distilled, here, goals)
    else:
        found = [interval_distance(network, params.mix, here, mlp(network, params.embed, goals))]
    return [network.add("Neg", one) for one in found]


def interval_distance(network: Network, mix: Any, start: Tensor, end: Tensor) -> Tensor:
    """As `mvl.nets.quasimetric.interval_distance`, (rows, 1)."""
    last = network.constant([-1], np.int64)
    shape = network.constant([-1, start.size // GROUP, GROUP], np.int64)
    ends = network.add("Reshape", network.add("Max", start, end), shape, size=GROUP)
    starts = network.add("Reshape", start, shape, size=GROUP)
    one, other = (network.add("Unsqueeze", starts, network.constant([axis], np.int64)) for axis in (-1, -2))
    earlier = network.constant(np.tri(GROUP, k=-1), bool)  # [j, i]: interval i comes before interval j
    same = network.add("And", network.add("Equal", other, one), earlier)
    before = network.add("Or", network.add("Less", other, one), same)
    reach = network.add("Unsqueeze", ends, network.constant([-2], np.int64))
    reached = network.add("ReduceMax", network.add("Where", before, reach, network.constant(-np.inf)), last, keepdims=0)
    added = network.add("Relu", network.add("Sub", ends, network.add("Max", starts, reached)))
    lengths = network.add("ReduceSum", added, last, size=start.size // GROUP, keepdims=0)
    share = 1 / (1 + np.exp(-np.float64(mix)))
    mean, largest = (network.add(kind, lengths, last, size=1, keepdims=1) for kind in ("ReduceMean", "ReduceMax"))
    weighed = network.add("Mul", mean, network.constant(share)), network.add("Mul", largest, network.constant(1 - share))
    return network.add("Add", *weighed)


@singledispatch
def steps(part: Any, network: Network, values: Tensor, discount: float) -> Tensor:
    """Steps to the goal, of what `value` says."""
    raise unknown_part(part, "steps", "values")


@steps.register(ImplicitV)
@steps.register(ImplicitQ)
@steps.register(DiscreteQ)
def _(part: Any, network: Network, values: Tensor, discount: float) -> Tensor:
    bounds = network.constant(-1 / (1 - discount) + 1e-3), network.constant(-1e-3)
    share = network.add("Mul", network.add("Clip", values, *bounds), network.constant(1 - discount))
    wide = network.add("Cast", share, to=DOUBLE)  # there is no log1p, and 1 + share would be rounded
    log = network.add("Log", network.add("Add", wide, network.constant(1.0, np.float64)))
    return network.add("Div", network.add("Cast", log, to=FLOAT), network.constant(np.log(np.float32(discount))))


@steps.register
def _(part: Quasimetric, network: Network, values: Tensor, discount: float) -> Tensor:
    return network.add("Relu", network.add("Neg", values))


@steps.register(Transitive)
@steps.register(SubgoalTree)
@steps.register(Compositional)
def _(part: Any, network: Network, values: Tensor, discount: float) -> Tensor:
    softplus = network.add("Softplus", network.add("Neg", values))
    return network.add("Div", softplus, network.constant(-np.log(np.float32(discount))))
