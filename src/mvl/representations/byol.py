"""BYOL-gamma: the embedding of a state predicts that of a later state, and the other way around."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
from jax import Array
from jax.lax import stop_gradient
from jax.nn import log_softmax, softmax

from mvl.batches import Batch, BatchRequest, GoalMix
from mvl.checks import COUNT, check_settings
from mvl.nets.mlp import MLP, apply_ensemble, init_ensemble
from mvl.types import Key, Loss, Params, Shapes


class Networks(NamedTuple):
    embed: MLP
    forward: MLP
    backward: MLP


def mean_head(mlp: MLP, *inputs: Array) -> Array:
    """Mean over the heads of an ensemble, (..., outputs)."""
    return apply_ensemble(mlp, *inputs).mean(axis=0)


@dataclass(frozen=True)
class BYOL:
    """z = phi(g). With u = phi(s) and y = phi(later state), both predictions are cross-entropies of softmaxed features:

    L = mean -softmax(sg y) . log softmax(psi_f([u, a])) + mean -softmax(psi_b(y)) . log softmax(sg u).
    The constant (sg) is the target in the first term and inside the logarithm in the second, as in the published code.
    There are no target networks.
    """

    size: int = 256
    """Length of z."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of all three networks."""

    request: ClassVar[BatchRequest] = BatchRequest(goals=GoalMix(0.0, 1.0, 0.0, geometric=True))
    shaped_by_value: ClassVar[bool] = False
    looks_at_state: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, size=COUNT, widths=COUNT)

    def width(self, goal: int) -> int:
        return self.size

    def init(self, key: Key, shapes: Shapes) -> Params:
        inputs = (shapes.goal, self.size + shapes.action, self.size)
        keys = jax.random.split(key, 3)
        return Networks(*(init_ensemble(k, 2, i, self.widths, self.size, norm=True) for k, i in zip(keys, inputs, strict=True)))

    def targets(self, params: Params) -> Params:
        return ()

    def encode(self, params: Params, states: Array, goals: Array, key: Key) -> Array:
        return mean_head(params.embed, goals)

    def loss(self, params: Params, targets: Params, batch: Batch, key: Key) -> Loss:
        assert batch.representation_goals is not None, "requested by the part"
        here = mean_head(params.embed, batch.positions)
        later = mean_head(params.embed, batch.representation_goals.vectors)
        ahead = mean_head(params.forward, here, batch.actions)
        back = mean_head(params.backward, later)
        forward = -(softmax(stop_gradient(later)) * log_softmax(ahead)).sum(-1).mean()
        backward = -(softmax(back) * log_softmax(stop_gradient(here))).sum(-1).mean()
        return forward + backward, {"forward": forward, "backward": backward}
