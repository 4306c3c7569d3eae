"""What representations and policies compute when a policy acts, as operations of ONNX.

A part that one's own code registers here can be exported too:

    @represented.register
    def _(part: Mine, network, params, states, goals, noise): ...
"""

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from mvl.deploy.export.network import Encode, Network, Tensor, dense, mean_ensemble, mlp
from mvl.errors import UsageError
from mvl.policies.advantage_weighted import AdvantageWeighted
from mvl.policies.clone import Clone
from mvl.policies.flow import Flow
from mvl.policies.gradient import Gradient
from mvl.policies.greedy import Greedy
from mvl.policies.hierarchical import Hierarchical
from mvl.representations.byol import BYOL
from mvl.representations.dual import Dual
from mvl.representations.identity import Identity
from mvl.representations.subgoal import Subgoal
from mvl.representations.tra import TRA
from mvl.representations.vib import VIB
from mvl.representations.vip import VIP
from mvl.types import Projects

Params = Any


def unknown_part(part: object, function: str, module: str = "parts") -> UsageError:
    """The error for a part that nothing is registered for."""
    name = type(part).__name__
    return UsageError(
        f"{name} cannot be written as ONNX; register it with mvl.deploy.export.{module}.{function}, or use --format stablehlo."
    )


@singledispatch
def represented(part: Any, network: Network, params: Params, states: Tensor, goals: Tensor, noise: str) -> Tensor:
    """The represented goals; `noise` is the name of the input for what is drawn at random."""
    raise unknown_part(part, "represented")


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
        raise unknown_part(part, "projected")
    return vectors


@projected.register
def _(part: Subgoal, network: Network, vectors: Tensor) -> Tensor:
    length = network.add("ReduceL2", vectors, network.constant([-1], np.int64), size=1, keepdims=1)
    direction = network.add("Div", vectors, network.add("Max", length, network.constant(1e-8)))
    return network.add("Mul", direction, network.constant(np.sqrt(part.size)))


class View(NamedTuple):
    """What a policy uses of the rest, as `mvl.types.PolicyView`."""

    encode: Encode
    project: Callable[[Tensor], Tensor]
    critics: Callable[[Tensor, Tensor, Tensor], list[Tensor]]
    """States, actions as vectors and represented goals -> Q of each head, (rows, 1)."""
    actions: Callable[[], np.ndarray]
    """Every action as a vector, (n, a), of one discrete dimension."""


@singledispatch
def outputs(part: Any, network: Network, params: Params, states: Tensor, goals: Tensor, view: View) -> Tensor:
    """The outputs of a policy's network, of which the action head makes the most likely actions."""
    raise unknown_part(part, "outputs")


@outputs.register(AdvantageWeighted)
@outputs.register(Clone)
@outputs.register(Gradient)
def _(part: Any, network: Network, params: Params, states: Tensor, goals: Tensor, view: View) -> Tensor:
    return mlp(network, params, states, view.encode(states, goals))


@outputs.register
def _(part: Hierarchical, network: Network, params: Params, states: Tensor, goals: Tensor, view: View) -> Tensor:
    return mlp(network, params.low, states, view.project(mlp(network, params.high, states, goals)))


@outputs.register
def _(part: Flow, network: Network, params: Params, states: Tensor, goals: Tensor, view: View) -> Tensor:
    represented_goals = view.encode(states, goals)
    actions = network.given("action_noise", params.output.bias.shape[-1])
    step = network.constant(1 / part.flow_steps)
    for number in range(part.flow_steps):
        time = network.constant([[number / part.flow_steps]])
        velocity = mlp(network, params, states, represented_goals, actions, time)
        actions = network.add("Add", actions, network.add("Mul", velocity, step))
    return actions


@outputs.register
def _(part: Greedy, network: Network, params: Params, states: Tensor, goals: Tensor, view: View) -> Tensor:
    """What every action is worth; of two actions, how much more the second is."""
    represented_goals, worth = view.encode(states, goals), []
    for action in view.actions():
        heads = view.critics(states, network.constant(action[None]), represented_goals)
        worth.append(heads[0] if len(heads) == 1 else network.add("Min", *heads))
    return network.add("Sub", worth[1], worth[0]) if len(worth) == 2 else network.beside(*worth)
