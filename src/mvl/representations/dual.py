"""Dual goal representations: a goal is represented by a vector that gives its value from every state."""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest, GoalMix
from mvl.checks import COUNT, NATURAL, UNIT, check_settings
from mvl.errors import UsageError
from mvl.nets.mlp import MLP, apply_ensemble, init_ensemble
from mvl.types import Field, Key, Loss, Params, Shapes
from mvl.values.implicit_q import implicit_q_loss


class Networks(NamedTuple):
    state: MLP
    goal: MLP
    critic: MLP


@dataclass(frozen=True)
class Dual:
    """z = mean_e psi_e(g), from a complete implicit-Q learner whose value is f_e(s, g) = phi_e(s) . psi_e(g) / sqrt(N).

    Its critics Q(s, g, a) have target networks, f has none. It is trained on the value's goals, or on separate ones if those
    do not include the current state. No gradient of the value or the policy built on z reaches it.
    """

    size: int = 256
    """Length N of z."""
    expectile: float = 0.9
    """kappa of the representation's own value (0.9 for locomotion, 0.7 for manipulation)."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of phi, psi and the critics."""
    regularized: Literal["downstream", "own", "both"] = "downstream"
    """Which surface is regularized: the value built on z (downstream), the bilinear f (own), or both."""
    anchors: int = 0
    """With f regularized: evaluate neighbors of this many states for all goals of the batch; 0: each for its own goal."""

    request: ClassVar[BatchRequest] = BatchRequest(goals=GoalMix(), reuse_value_goals=True)
    shaped_by_value: ClassVar[bool] = False
    looks_at_state: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, size=COUNT, expectile=UNIT, widths=COUNT, anchors=NATURAL)
        if self.anchors and self.regularized == "downstream":
            raise UsageError("anchors belong to the bilinear surface; set regularized to own or both, or anchors to 0.")

    def width(self, goal: int) -> int:
        return self.size

    def init(self, key: Key, shapes: Shapes) -> Params:
        state, goal, critic = jax.random.split(key, 3)
        everything = shapes.observation + shapes.goal + shapes.action
        return Networks(
            init_ensemble(state, 2, shapes.observation, self.widths, self.size, norm=True),
            init_ensemble(goal, 2, shapes.goal, self.widths, self.size, norm=True),
            init_ensemble(critic, 2, everything, self.widths, 1, norm=True),
        )

    def targets(self, params: Params) -> Params:
        return params.critic

    def encode(self, params: Params, states: Array, goals: Array, key: Key) -> Array:
        return apply_ensemble(params.goal, goals).mean(axis=0)

    def at(self, params: Params, states: Array, goals: Array) -> Array:
        """f_e(s, g): (heads, ...)."""
        pairs = zip(apply_ensemble(params.state, states), apply_ensemble(params.goal, goals), strict=True)
        return jnp.stack([(phi * psi).sum(-1) for phi, psi in pairs]) / jnp.sqrt(self.size)

    def loss(self, params: Params, targets: Params, batch: Batch, key: Key) -> Loss:
        sampled = batch.representation_goals or batch.value_goals
        goals = sampled.vectors
        inputs = batch.observations, goals, batch.actions
        return implicit_q_loss(
            self.at(params, batch.observations, goals),
            self.at(params, batch.next_observations, goals),
            apply_ensemble(params.critic, *inputs)[..., 0],
            apply_ensemble(targets, *inputs)[..., 0],
            sampled,
            batch.discount,
            self.expectile,
        )

    def surface(self, params: Params, batch: Batch) -> Field:
        """The surface of f: each state with its own goal or, with `anchors`, a few states with every goal of the batch."""
        goals = batch.value_goals.vectors
        if not self.anchors:
            return Field(lambda states, goals: self.at(params, states, goals), batch.observations, goals)
        few = batch.observations[: self.anchors, None]  # (anchors, 1, d): the middle axis broadcasts over goals
        return Field(lambda states, goals: self.outer(params, states, goals), few, goals)

    def outer(self, params: Params, states: Array, goals: Array) -> Array:
        """f_e of every state (..., 1, d) with every goal (goals, k), as one matrix product: (heads, ..., goals)."""
        embedded = apply_ensemble(params.state, states[..., 0, :]), apply_ensemble(params.goal, goals)
        return jnp.einsum("h...n,hgn->h...g", *embedded) / jnp.sqrt(self.size)
