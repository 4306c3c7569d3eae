"""Goal-conditioned implicit V-learning: the value of GCIVL and HIQL."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.batches import Batch, BatchRequest, GoalMix
from mvl.checks import COUNT, UNIT, check_settings
from mvl.nets.discounting import steps_of_values
from mvl.nets.mlp import apply_ensemble, init_ensemble
from mvl.types import Act, Encode, Key, Loss, Params, Shapes


@dataclass(frozen=True)
class ImplicitV:
    """Expectile regression of V(s, z) on r + discount * V'(s', z), two heads, no action critic.

    With V' the target network, q_e = r + discount * m * V'_e(s', z), and
    A = min_e q_e - mean_e V'_e(s, z), the loss is sum_e mean |kappa - 1[A < 0]| (q_e - V_e(s, z))^2.
    The weight depends on the target networks alone, with the smaller q_e; each head regresses on its own target network.
    """

    expectile: float = 0.9
    """kappa: weight of under-estimates; over-estimates weigh 1 - kappa (0.9 for GCIVL, 0.7 for HIQL)."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of each head."""

    goal_mix: ClassVar[GoalMix] = GoalMix()
    request: ClassVar[BatchRequest] = BatchRequest()
    crosses_goals: ClassVar[bool] = False
    target_surface: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, expectile=UNIT, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        return init_ensemble(key, 2, shapes.observation + shapes.represented, self.widths, 1, norm=True)

    def targets(self, params: Params) -> Params:
        return params

    def state_value(self, params: Params, states: Array, goals: Array) -> Array:
        return apply_ensemble(params, states, goals)[..., 0]

    def steps_to_go(self, values: Array, discount: float) -> Array:
        return steps_of_values(values, discount)

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss:
        represented = encode(batch.observations, batch.value_goals.vectors)
        return self.regress(self.state_value(params, batch.observations, represented), params, targets, batch, encode)

    def regress(self, values: Array, params: Params, targets: Params, batch: Batch, encode: Encode) -> Loss:
        goals, _, rewards, masks, _ = batch.value_goals
        current, following = stop_gradient(self._values(targets, batch, goals, encode))
        backup = rewards + batch.discount * masks * following  # (heads, batch)
        advantage = backup.min(axis=0) - current.mean(axis=0)
        weight = jnp.where(advantage >= 0, self.expectile, 1 - self.expectile)
        loss = (weight * jnp.square(backup - values)).mean(axis=1).sum()
        return loss, {"mean": values.mean(), "lowest": values.min(), "advantage": advantage.mean()}

    def advantage(self, params: Params, batch: Batch, goals: Array, encode: Encode) -> Array:
        """V(s', z) - V(s, z), heads averaged; without reward and discount (as OGBench)."""
        current, following = self._values(params, batch, goals, encode)
        return (following - current).mean(axis=0)

    def _values(self, params: Params, batch: Batch, goals: Array, encode: Encode) -> tuple[Array, Array]:
        """Values of the states and of the next states, (heads, batch) each, in one pass; without gradient to the goals."""
        states = jnp.stack([batch.observations, batch.next_observations])
        values = self.state_value(params, states, stop_gradient(encode(states, goals)))
        return values[:, 0], values[:, 1]
