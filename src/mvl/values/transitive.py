"""Transitive reinforcement learning: the value of a path is the product of the values of its two halves."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.batches import Batch, BatchRequest, GoalMix, Midpoints
from mvl.checks import COUNT, NOT_NEGATIVE, UNIT, check_settings
from mvl.nets import reach
from mvl.types import Act, Encode, Key, Loss, Params, Shapes


@dataclass(frozen=True)
class Transitive:
    """Q_e = sigmoid h_e(s, a, g) estimates discount^steps. With k between i and its goal j in one episode, Q' the target network:

    y_e = first * second, where first  = discount^(k - i) if k - i <= 1, otherwise Q'_e(s_i, a_i, s_k),
                                second = discount^(j - k) if j - k <= 1, otherwise Q'_e(s_k, a_k, s_j);
    L = mean |kappa - 1[y_e < Q_e]| (1 + log_discount y_e)^-power BCE(h_e(s_i, a_i, s_j), y_e).
    Q is trained on goals that are states. If represented goals are something else, a second pair of heads on these is fitted
    to Q, and the policy uses the second pair.
    """

    expectile: float = 0.7
    """kappa: weight of under-estimates; over-estimates weigh 1 - kappa."""
    distance_power: float = 0.7
    """Exponent by which distant goals weigh less; published per task."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of each head."""

    goal_mix: ClassVar[GoalMix] = GoalMix(current=0.0, trajectory=1.0, random=0.0, geometric=True)
    request: ClassVar[BatchRequest] = BatchRequest(midpoints=True)
    crosses_goals: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, expectile=UNIT, distance_power=NOT_NEGATIVE, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        return reach.init_critics(key, shapes, self.widths)

    def targets(self, params: Params) -> Params:
        return params.states

    def critic(self, params: Params, states: Array, actions: Array, goals: Array) -> Array:
        """h_e(s, a, z), before the sigmoid: (heads, ...)."""
        return reach.represented_logits(params, states, actions, goals)

    def steps_to_go(self, values: Array, discount: float) -> Array:
        return reach.steps_of_logits(values, discount)

    def log_target(self, targets: Params, batch: Batch, middle: Midpoints) -> Array:
        """log y_e, (heads, batch)."""
        goals, step = batch.value_goals, jnp.log(batch.discount)

        def half(states: Array, actions: Array, ends: Array, steps: Array) -> Array:
            learned = jax.nn.log_sigmoid(reach.logits(targets, states, actions, ends))
            return jnp.where(steps <= 1, steps * step, learned)

        first = half(batch.observations, batch.actions, middle.states, middle.offsets)
        return first + half(middle.states, middle.actions, goals.states, goals.offsets - middle.offsets)

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss:
        assert batch.midpoints is not None, "requested by the part"
        inputs, goals = (batch.observations, batch.actions), batch.value_goals
        log_target = stop_gradient(self.log_target(targets, batch, batch.midpoints))
        target, steps = jnp.exp(log_target), log_target / jnp.log(batch.discount)
        found = reach.logits(params.states, *inputs, goals.states)
        asymmetry = jnp.where(target >= stop_gradient(jax.nn.sigmoid(found)), self.expectile, 1 - self.expectile)
        weight = asymmetry * (1 + steps) ** -self.distance_power
        loss = (weight * reach.cross_entropy(found, target)).mean()
        distilled = reach.distill(params, found, *inputs, encode(batch.observations, goals.vectors))
        return loss + distilled, {"mean": found.mean(), "steps": steps.mean(), "distilled": distilled}
