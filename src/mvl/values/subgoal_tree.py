"""Sub-goal trees by dynamic programming (TDP), a reconstruction."""

from dataclasses import dataclass
from typing import ClassVar

import jax
from jax import Array

from mvl.batches import Batch, BatchRequest, GoalMix
from mvl.checks import COUNT, check_settings
from mvl.nets import reach
from mvl.types import Act, Encode, Key, Loss, Params, Shapes


@dataclass(frozen=True)
class SubgoalTree:
    """A reconstruction. Q_e = sigmoid h_e(s, a, g), fitted by cross-entropy to the best path through one of a few sub-goals:

    y_e = 1 where g = s, discount where g = s', otherwise max over w in W of Q'_e(s, a, w) Q'_e(w, a_w, g),
    with Q' the target network and W some transitions of the batch with their logged actions. After Jurgenson et al. (2020),
    which the paper cites for TDP; how it was adapted to offline data and continuous states is not published.
    """

    subgoals: int = 32
    """Size of W, the set of candidate sub-goals."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of each head."""

    goal_mix: ClassVar[GoalMix] = GoalMix()
    request: ClassVar[BatchRequest] = BatchRequest()
    crosses_goals: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, subgoals=COUNT, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        return reach.init_critics(key, shapes, self.widths)

    def targets(self, params: Params) -> Params:
        return params.states

    def critic(self, params: Params, states: Array, actions: Array, goals: Array) -> Array:
        """h_e(s, a, z), before the sigmoid: (heads, ...)."""
        return reach.represented_logits(params, states, actions, goals)

    def steps_to_go(self, values: Array, discount: float) -> Array:
        return reach.steps_of_logits(values, discount)

    def target(self, targets: Params, batch: Batch) -> Array:
        """y_e, (heads, batch)."""
        goals = batch.value_goals
        between, actions = batch.observations[: self.subgoals, None], batch.actions[: self.subgoals, None]
        first = jax.nn.sigmoid(reach.logits(targets, batch.observations, batch.actions, between))  # (heads, W, batch)
        second = jax.nn.sigmoid(reach.logits(targets, between, actions, goals.states))
        return reach.with_base_cases((first * second).max(axis=1), goals.offsets, batch.discount)

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss:
        return reach.fit(params, self.target(targets, batch), batch, encode)
