"""The compositional optimality equation (COE), a reconstruction."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from mvl.batches import Batch, BatchRequest, GoalMix
from mvl.checks import COUNT, check_settings
from mvl.nets import reach
from mvl.types import Act, Encode, Key, Loss, Params, Shapes


@dataclass(frozen=True)
class Compositional:
    """A reconstruction. As `SubgoalTree`, but the policy acts from the sub-goal on, and a Bellman backup is an alternative:

    y_e = max(max over w in W of Q'_e(s, a, w) Q'_e(w, pi(w, g), g), discount Q'_e(s', pi(s', g), g)),
    1 where g = s and discount where g = s'. After Piekos et al. (2023); how it was adapted to offline data for
    the paper's numbers is not published.
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

    def target(self, targets: Params, batch: Batch, act: Act) -> Array:
        """y_e, (heads, batch)."""
        goals = batch.value_goals

        def onward(states: Array) -> Array:
            return jax.nn.sigmoid(reach.logits(targets, states, act(states, goals.vectors), goals.states))

        between = batch.observations[: self.subgoals, None]
        first = jax.nn.sigmoid(reach.logits(targets, batch.observations, batch.actions, between))  # (heads, W, batch)
        composed = (first * onward(between)).max(axis=1)
        best = jnp.maximum(composed, batch.discount * onward(batch.next_observations))
        return reach.with_base_cases(best, goals.offsets, batch.discount)

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss:
        return reach.fit(params, self.target(targets, batch, act), batch, encode)
