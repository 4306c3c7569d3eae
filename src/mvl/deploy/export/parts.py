"""What the parts of a recipe compute when a policy acts, as operations of ONNX.

A part that one's own code registers here can be exported too:

    @represented.register
    def _(part: Mine, network, params, states, goals, noise): ...
"""

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

from mvl.deploy.export.network import DOUBLE, FLOAT, Encode, Network, Tensor, dense, ensemble, mean_ensemble, mean_of_heads, mlp
from mvl.errors import UsageError
from mvl.nets.quasimetric import GROUP
from mvl.policies.advantage_weighted import AdvantageWeighted
from mvl.policies.clone import Clone
from mvl.policies.flow import Flow
from mvl.policies.gradient import Gradient
from mvl.policies.hierarchical import Hierarchical
from mvl.representations.byol import BYOL
from mvl.representations.dual import Dual
from mvl.representations.identity import Identity
from mvl.representations.subgoal import Subgoal
from mvl.representations.tra import TRA
from mvl.representations.vib import VIB
from mvl.representations.vip import VIP
from mvl.types import Projects
from mvl.values.compositional import Compositional
from mvl.values.contrastive import Contrastive
from mvl.values.implicit_q import ImplicitQ
from mvl.values.implicit_v import ImplicitV
from mvl.values.quasimetric import Quasimetric
from mvl.values.subgoal_tree import SubgoalTree
from mvl.values.transitive import Transitive

Params = Any


def _unknown(part: object, function: str) -> UsageError:
    name = type(part).__name__
    return UsageError(
        f"{name} cannot be written as ONNX; register it with mvl.deploy.export.parts.{function}, or use --format stablehlo."
    )


@singledispatch
def represented(part: Any, network: Network, params: Params, states: Tensor, goals: Tensor, noise: str) -> Tensor:
    """The represented goals; `noise` is the name of the input for what is drawn at random."""
    raise _unknown(part, "represented")


@represented.register
def _(part: Identity, network: Network, params: Params, states: Tensor, goals: Tensor, noise: str) -> Tensor:
    return goals


@represented.register
def _(part: VIP, network: Network, params: Params, states: Tensor, goals: Tensor, noise: str) -> Tensor:
    return mlp(network, params, goals)


@represented.register
def _(part: BYOL, network: Network, params: Params, states: Tensor, goals: Tensor, noise: str) -> Tensor:
    return mean_ensemble(network, params.embed, goals)


@represented.register(TRA)
@represented.register(Dual)
def _(part: Any, network: Network, params: Params, states: Tensor, goals: Tensor, noise: str) -> Tensor:
    return mean_ensemble(network, params.goal, goals)


@represented.register
def _(part: Subgoal, network: Network, params: Params, states: Tensor, goals: Tensor, noise: str) -> Tensor:
    return projected(part, network, mlp(network, params, states, goals))


@represented.register
def _(part: VIB, network: Network, params: Params, states: Tensor, goals: Tensor, noise: str) -> Tensor:
    features = mlp(network, params.trunk, goals)
    bounds = network.constant(-5.0), network.constant(2.0)
    deviation = network.add("Exp", network.add("Clip", dense(network, params.log_std, features), *bounds))
    drawn = network.add("Mul", deviation, network.given(noise, part.size))
    return network.add("Add", dense(network, params.mean, features), drawn)


@singledispatch
def projected(part: Any, network: Network, vectors: Tensor) -> Tensor:
    """The represented goals that are nearest to some vectors."""
    if isinstance(part, Projects):
        raise _unknown(part, "projected")
    return vectors


@projected.register
def _(part: Subgoal, network: Network, vectors: Tensor) -> Tensor:
    length = network.add("ReduceL2", vectors, network.constant([-1], np.int64), size=1, keepdims=1)
    direction = network.add("Div", vectors, network.add("Max", length, network.constant(1e-8)))
    return network.add("Mul", direction, network.constant(np.sqrt(part.size)))


@singledispatch
def outputs(
    part: Any,
    network: Network,
    params: Params,
    states: Tensor,
    goals: Tensor,
    encode: Encode,
    project: Callable[[Tensor], Tensor],
    noise: str,
) -> Tensor:
    """The outputs of a policy's network, of which the action head makes the most likely actions."""
    raise _unknown(part, "outputs")


@outputs.register(AdvantageWeighted)
@outputs.register(Clone)
@outputs.register(Gradient)
def _(part: Any, network: Network, params: Params, states: Tensor, goals: Tensor, encode: Encode, *_: Any) -> Tensor:
    return mlp(network, params, states, encode(states, goals))


@outputs.register
def _(
    part: Hierarchical,
    network: Network,
    params: Params,
    states: Tensor,
    goals: Tensor,
    encode: Encode,
    project: Callable[[Tensor], Tensor],
    noise: str,
) -> Tensor:
    return mlp(network, params.low, states, project(mlp(network, params.high, states, goals)))


@outputs.register
def _(
    part: Flow,
    network: Network,
    params: Params,
    states: Tensor,
    goals: Tensor,
    encode: Encode,
    project: Callable[[Tensor], Tensor],
    noise: str,
) -> Tensor:
    represented_goals = encode(states, goals)
    actions = network.given(noise, params.output.bias.shape[-1])
    step = network.constant(1 / part.flow_steps)
    for number in range(part.flow_steps):
        time = network.constant([[number / part.flow_steps]])
        velocity = mlp(network, params, states, represented_goals, actions, time)
        actions = network.add("Add", actions, network.add("Mul", velocity, step))
    return actions


@singledispatch
def value(part: Any, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    """V of states and represented goals, or the critic at the policy's own action as a vector; (rows, 1)."""
    raise _unknown(part, "value")


@value.register
def _(part: ImplicitV, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    return mean_ensemble(network, params, states, goals)


@value.register
def _(part: ImplicitQ, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    return mean_ensemble(network, params.value, states, goals)


@value.register(Transitive)
@value.register(SubgoalTree)
@value.register(Compositional)
def _(part: Any, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    critic = params.states if params.told is None else params.told
    return mean_ensemble(network, critic, states, goals, action())


@value.register
def _(part: Contrastive, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    here, there = ensemble(network, params.action, states, action()), ensemble(network, params.goal, goals)
    last = network.constant([-1], np.int64)
    products = [network.add("Mul", *pair) for pair in zip(here, there, strict=True)]
    found = [network.add("ReduceSum", product, last, size=1, keepdims=1) for product in products]
    return network.add("Div", mean_of_heads(network, found), network.constant(np.sqrt(part.latent)))


@value.register
def _(part: Quasimetric, network: Network, params: Params, states: Tensor, goals: Tensor, action: Callable[[], Tensor]) -> Tensor:
    here = mlp(network, params.embed, states)
    if params.distilled is not None:
        return network.add("Neg", mean_ensemble(network, params.distilled, here, goals))
    return network.add("Neg", interval_distance(network, params.mix, here, mlp(network, params.embed, goals)))


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
    raise _unknown(part, "steps")


@steps.register(ImplicitV)
@steps.register(ImplicitQ)
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
