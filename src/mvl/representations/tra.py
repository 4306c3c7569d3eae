"""Temporal representation alignment: contrastive learning of states and the goals that follow them."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest, GoalMix
from mvl.checks import COUNT, check_settings
from mvl.nets.mlp import MLP, apply_ensemble, init_ensemble
from mvl.types import Key, Loss, Params, Shapes


class Networks(NamedTuple):
    state: MLP
    goal: MLP


@dataclass(frozen=True)
class TRA:
    """z = psi(g), with logits l_ij = phi(s_i) . psi(g_j) / sqrt(N) trained by symmetric InfoNCE.

    L = -1/B^2 sum_i [log softmax_j(l_ij)_i + log softmax_i(l_ij)_j], heads averaged before the logits.
    """

    size: int = 256
    """Length N of z."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of phi and psi."""

    request: ClassVar[BatchRequest] = BatchRequest(goals=GoalMix(0.0, 1.0, 0.0, geometric=True))
    shaped_by_value: ClassVar[bool] = False
    looks_at_state: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, size=COUNT, widths=COUNT)

    def width(self, goal: int) -> int:
        return self.size

    def init(self, key: Key, shapes: Shapes) -> Params:
        state, goal = jax.random.split(key)
        inputs = (state, shapes.observation), (goal, shapes.goal)
        return Networks(*(init_ensemble(k, 2, size, self.widths, self.size, norm=True) for k, size in inputs))

    def targets(self, params: Params) -> Params:
        return ()

    def encode(self, params: Params, states: Array, goals: Array, key: Key) -> Array:
        return apply_ensemble(params.goal, goals).mean(axis=0)

    def loss(self, params: Params, targets: Params, batch: Batch, key: Key) -> Loss:
        assert batch.representation_goals is not None, "requested by the part"
        states = apply_ensemble(params.state, batch.observations).mean(axis=0)
        goals = apply_ensemble(params.goal, batch.representation_goals.vectors).mean(axis=0)
        logits = states @ goals.T / jnp.sqrt(self.size)
        count = logits.shape[0]
        forward, backward = (jnp.diag(jax.nn.log_softmax(logits, axis=axis)).sum() for axis in (1, 0))
        accuracy = (logits.argmax(axis=1) == jnp.arange(count)).mean()
        return -(forward + backward) / count**2, {"accuracy": accuracy}
