"""Goal-conditioned deep Q-learning (DQN): one output per action, for data with one discrete action dimension."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.batches import Batch, BatchRequest, GoalMix
from mvl.checks import COUNT, check_settings
from mvl.errors import UsageError
from mvl.nets.discounting import steps_of_values
from mvl.nets.mlp import apply_ensemble, init_ensemble
from mvl.types import Act, Encode, Key, Loss, Params, Shapes


@dataclass(frozen=True)
class DiscreteQ:
    """Q(s, a, z) for every discrete action a by regression on r + discount * m * max_b Q'(s', b, z), Q' the target network.

    L = mean (Q(s, a, z) - y)^2. Goals inside y are constant. The state value is max_a Q(s, a, z). One head, as in DQN; the
    maximum over noisy estimates is too high, which data with all actions in all states keeps small.
    """

    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of the network, which has one output per action."""

    goal_mix: ClassVar[GoalMix] = GoalMix()
    request: ClassVar[BatchRequest] = BatchRequest()
    crosses_goals: ClassVar[bool] = False
    compares_actions: ClassVar[bool] = True
    target_surface: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        if len(shapes.levels) != 1 or not shapes.levels[0]:
            raise UsageError("value discrete_q needs one discrete action dimension; choose another value for these actions.")
        return init_ensemble(key, 1, shapes.observation + shapes.represented, self.widths, shapes.levels[0], norm=True)

    def targets(self, params: Params) -> Params:
        return params

    def state_value(self, params: Params, states: Array, goals: Array) -> Array:
        """max_a Q(s, a, z)."""
        return apply_ensemble(params, states, goals).max(axis=-1)

    def critic(self, params: Params, states: Array, actions: Array, goals: Array) -> Array:
        """Q(s, a, z); of an action between the discrete ones, as a policy's mean action is, the mean over them."""
        return (apply_ensemble(params, states, goals) * shares(actions)).sum(axis=-1)

    def steps_to_go(self, values: Array, discount: float) -> Array:
        return steps_of_values(values, discount)

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss:
        goals = batch.value_goals
        after = stop_gradient(encode(batch.next_observations, goals.vectors))
        following = self.state_value(targets, batch.next_observations, after)
        target = goals.rewards + batch.discount * goals.masks * following  # (1, batch)
        found = self.critic(params, batch.observations, batch.actions, encode(batch.observations, goals.vectors))
        return jnp.square(found - target).mean(), {"mean": found.mean(), "target": target.mean()}

    def advantage(self, params: Params, batch: Batch, goals: Array, encode: Encode) -> Array:
        """Q(s, a, z) - max_b Q(s, b, z), never above 0."""
        outputs = apply_ensemble(params, batch.observations, encode(batch.observations, goals))[0]
        return (outputs * shares(batch.actions)).sum(axis=-1) - outputs.max(axis=-1)


def shares(actions: Array) -> Array:
    """Share of each discrete action in actions as vectors: of two actions one number from -1 to 1, of more one-hot."""
    return actions if actions.shape[-1] > 1 else jnp.concatenate([1 - actions, 1 + actions], axis=-1) / 2
