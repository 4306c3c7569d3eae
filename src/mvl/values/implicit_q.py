"""Goal-conditioned implicit Q-learning: expectile regression of a state value on an action value."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.batches import Batch, BatchRequest, GoalMix, Goals
from mvl.checks import COUNT, UNIT, check_settings
from mvl.nets.discounting import steps_of_values
from mvl.nets.mlp import MLP, apply_ensemble, init_ensemble
from mvl.types import Act, Encode, Key, Loss, Params, Shapes


def implicit_q_loss(
    values: Array, next_values: Array, critics: Array, target_critics: Array, goals: Goals, discount: Array, expectile: float
) -> Loss:
    """L_V + L_Q for values of any number of heads, (heads, batch): GCIQL has one, the DUAL representation two.

    q   = min Q'(s, a, g), Q' the target networks
    L_V = mean over heads and batch of |kappa - 1[q < V_e]| (q - V_e)^2
    L_Q = mean over heads e and batch of sum_h (Q_h - y_e)^2,  y_e = r + discount * m * sg V_e(s', g)
    """
    error = stop_gradient(target_critics.min(axis=0)) - values  # (value heads, batch)
    weight = jnp.where(error >= 0, expectile, 1 - expectile)
    value_loss = (weight * jnp.square(error)).mean()
    backup = goals.rewards + discount * goals.masks * stop_gradient(next_values)
    critic_loss = jnp.square(critics[:, None] - backup[None]).sum(axis=0).mean()
    return value_loss + critic_loss, {"expectile": value_loss, "critic": critic_loss, "mean": values.mean()}


class Networks(NamedTuple):
    value: MLP
    critic: MLP


@dataclass(frozen=True)
class ImplicitQ:
    """V(s, z) by expectile regression on min Q'(s, a, z), and Q(s, a, z) on r + discount * V(s', z): one V, two Q."""

    expectile: float = 0.9
    """kappa: weight of under-estimates; over-estimates weigh 1 - kappa."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of the value and of both critics."""

    goal_mix: ClassVar[GoalMix] = GoalMix()
    request: ClassVar[BatchRequest] = BatchRequest()
    crosses_goals: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, expectile=UNIT, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        value, critic = jax.random.split(key)
        inputs = shapes.observation + shapes.represented
        return Networks(
            init_ensemble(value, 1, inputs, self.widths, 1, norm=True),
            init_ensemble(critic, 2, inputs + shapes.action, self.widths, 1, norm=True),
        )

    def targets(self, params: Params) -> Params:
        return params.critic

    def state_value(self, params: Params, states: Array, goals: Array) -> Array:
        return apply_ensemble(params.value, states, goals)[..., 0]

    def critic(self, params: Params, states: Array, actions: Array, goals: Array) -> Array:
        return apply_ensemble(params.critic, states, goals, actions)[..., 0]

    def steps_to_go(self, values: Array, discount: float) -> Array:
        return steps_of_values(values, discount)

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss:
        represented = encode(batch.observations, batch.value_goals.vectors)
        return self.regress(self.state_value(params, batch.observations, represented), params, targets, batch, encode)

    def regress(self, values: Array, params: Params, targets: Params, batch: Batch, encode: Encode) -> Loss:
        raw = batch.value_goals.vectors
        goals = encode(batch.observations, raw)
        target_params = params._replace(critic=targets)
        return implicit_q_loss(
            values,
            self.state_value(params, batch.next_observations, encode(batch.next_observations, raw)),
            self.critic(params, batch.observations, batch.actions, goals),
            self.critic(target_params, batch.observations, batch.actions, goals),
            batch.value_goals,
            batch.discount,
            self.expectile,
        )

    def advantage(self, params: Params, batch: Batch, goals: Array, encode: Encode) -> Array:
        """min Q(s, a, z) - V(s, z)."""
        represented = encode(batch.observations, goals)
        critics = self.critic(params, batch.observations, batch.actions, represented)
        return critics.min(axis=0) - self.state_value(params, batch.observations, represented)[0]
