"""Contrastive reinforcement learning: a classifier of which goals follow a state and an action."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest, GoalMix
from mvl.checks import COUNT, check_settings
from mvl.nets.mlp import MLP, apply_ensemble, init_ensemble
from mvl.types import Act, Encode, Key, Loss, Params, Shapes


class Networks(NamedTuple):
    action: MLP
    goal: MLP


@dataclass(frozen=True)
class Contrastive:
    """Q_e(s, a, z) = phi_e([s; a]) . psi_e(z) / sqrt(L), a logit: does z lie in the future of (s, a)?

    L = mean over all pairs (i, j) of a batch and both heads of the binary cross-entropy of Q_e(s_i, a_i, z_j) with 1[i = j].
    There are no rewards and no target networks.
    """

    latent: int = 512
    """Length L of both embeddings."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of phi and psi."""

    goal_mix: ClassVar[GoalMix] = GoalMix(current=0.0, trajectory=1.0, random=0.0, geometric=True)
    request: ClassVar[BatchRequest] = BatchRequest()
    crosses_goals: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, latent=COUNT, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        action, goal = jax.random.split(key)
        return Networks(
            init_ensemble(action, 2, shapes.observation + shapes.action, self.widths, self.latent, norm=True),
            init_ensemble(goal, 2, shapes.represented, self.widths, self.latent, norm=True),
        )

    def targets(self, params: Params) -> Params:
        return ()

    def critic(self, params: Params, states: Array, actions: Array, goals: Array) -> Array:
        embedded = apply_ensemble(params.action, states, actions), apply_ensemble(params.goal, goals)
        return jnp.einsum("h...n,h...n->h...", *embedded) / jnp.sqrt(self.latent)

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss:
        goals = encode(batch.observations, batch.value_goals.vectors)
        embedded = apply_ensemble(params.action, batch.observations, batch.actions), apply_ensemble(params.goal, goals)
        logits = jnp.einsum("hin,hjn->hij", *embedded) / jnp.sqrt(self.latent)
        count = logits.shape[-1]
        same = jnp.eye(count)
        entropy = jax.nn.softplus(logits) - same * logits  # -log sigmoid(l) on the diagonal, -log(1 - sigmoid(l)) elsewhere
        accuracy = (logits.mean(axis=0).argmax(axis=1) == jnp.arange(count)).mean()
        paired = (same * logits).sum() / (len(logits) * count)
        return entropy.mean(), {"accuracy": accuracy, "paired": paired, "mean": logits.mean()}
