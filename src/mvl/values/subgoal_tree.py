"""Sub-goal trees by dynamic programming (TDP), a reconstruction."""

from dataclasses import dataclass
from typing import ClassVar

import jax
from jax import Array

from mvl.checks import COUNT, check_fields
from mvl.nets import reach
from mvl.types import Act, Batch, BatchRequest, Encode, GoalMix, Key, Loss, Params, Shapes


@dataclass(frozen=True)
class SubgoalTree:
    """A reconstruction. Q_e = sigmoid h_e(s, a, g), fitted by plain cross-entropy to the best way over a few other states:

    y_e = 1 where g = s, discount where g = s', otherwise max over w in W of Q'_e(s, a, w) Q'_e(w, a_w, g),
    with Q' the copy and W some transitions of the batch with their logged actions. After Jurgenson et al. (2020), which
    the paper cites for TDP; how it was made offline and continuous for the paper's numbers is not published.
    """

    subgoals: int = 32
    """Size of W, the set of sub-goals that are tried."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of each head."""

    goal_mix: ClassVar[GoalMix] = GoalMix()
    request: ClassVar[BatchRequest] = BatchRequest()
    crosses_goals: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self, subgoals=COUNT, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        return reach.init_critics(key, shapes, self.widths)

    def targets(self, params: Params) -> Params:
        return params.states

    def critic(self, params: Params, states: Array, actions: Array, goals: Array) -> Array:
        """Logits."""
        return reach.told_logits(params, states, actions, goals)

    def steps_to_go(self, values: Array, discount: float) -> Array:
        return reach.steps_of_logits(values, discount)

    def target(self, copies: Params, batch: Batch) -> Array:
        """y_e, (heads, batch)."""
        goals = batch.value_goals
        between, actions = batch.observations[: self.subgoals, None], batch.actions[: self.subgoals, None]
        first = jax.nn.sigmoid(reach.logits(copies, batch.observations, batch.actions, between))  # (heads, W, batch)
        second = jax.nn.sigmoid(reach.logits(copies, between, actions, goals.states))
        return reach.with_base_cases((first * second).max(axis=1), goals.offsets, batch.discount)

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss:
        return reach.fit(params, self.target(targets, batch), batch, encode)
