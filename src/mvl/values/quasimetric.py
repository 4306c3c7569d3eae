"""Quasimetric reinforcement learning: the largest distance between states in which no step is longer than 1."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.batches import Batch, BatchRequest, GoalMix
from mvl.checks import COUNT, NOT_NEGATIVE, check_settings
from mvl.errors import UsageError
from mvl.nets.mlp import MLP, apply_ensemble, apply_mlp, init_ensemble, init_mlp
from mvl.nets.quasimetric import GROUP, interval_distance
from mvl.types import Act, Encode, Key, Loss, Params, Shapes


class Networks(NamedTuple):
    embed: MLP
    mix: Array  # () weights mean against maximum of the distance's groups
    dynamics: MLP
    multiplier: Array  # () log lambda
    distilled: MLP | None
    """Distances to represented goals; None if these are the states themselves."""


@dataclass(frozen=True)
class Quasimetric:
    """V(s, g) = -d(s, g), with d an interval quasimetric of embeddings u = phi(s).

    L_neg = mean 100 softplus(5 - d(s, g) / 100) over random goals, L_pos = mean relu(d(s, s') - 1)^2, and
    L = L_neg + sg(lambda) L_pos + lambda (slack - sg L_pos), where lambda is trained, too.
    An action leads to u + D([u; a]): L_dyn = mean (d(u', u + D) + d(u + D, u')) / 2.
    d needs goals that are states. If represented goals are something else, an ensemble on these is fitted to d by squared
    error, and the policy uses the ensemble.
    """

    latent: int = 512
    """Length of u, a multiple of 8."""
    slack: float = 0.05
    """Value of L_pos that the constraint allows."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of phi, of the dynamics D and of the fitted ensemble."""

    goal_mix: ClassVar[GoalMix] = GoalMix(current=0.0, trajectory=0.0, random=1.0, geometric=False)
    request: ClassVar[BatchRequest] = BatchRequest()
    crosses_goals: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, latent=COUNT, slack=NOT_NEGATIVE, widths=COUNT)
        if self.latent % GROUP:
            raise UsageError(f"quasimetric needs a latent size that is a multiple of {GROUP}, not {self.latent}.")

    def init(self, key: Key, shapes: Shapes) -> Params:
        embed, dynamics, distilled = jax.random.split(key, 3)
        inputs = self.latent + shapes.represented
        return Networks(
            init_mlp(embed, shapes.observation, self.widths, self.latent, norm=True),
            jnp.zeros(()),
            init_mlp(dynamics, self.latent + shapes.action, self.widths, self.latent, norm=True),
            jnp.zeros(()),
            None if shapes.plain else init_ensemble(distilled, 2, inputs, self.widths, 1, norm=True),
        )

    def targets(self, params: Params) -> Params:
        return ()

    def distance(self, params: Networks, here: Array, goals: Array) -> Array:
        """Distance from embedded states to represented goals, (heads, ...)."""
        if params.distilled is not None:
            return apply_ensemble(params.distilled, here, goals)[..., 0]
        return interval_distance(params.mix, here, apply_mlp(params.embed, goals))[None]

    def state_value(self, params: Params, states: Array, goals: Array) -> Array:
        return -self.distance(params, apply_mlp(params.embed, states), goals)

    def critic(self, params: Params, states: Array, actions: Array, goals: Array) -> Array:
        return -self.distance(params, self.after(params, apply_mlp(params.embed, states), actions), goals)

    def steps_to_go(self, values: Array, discount: float) -> Array:
        """The distance counts steps without a discount."""
        return jnp.maximum(-values, 0.0)

    def after(self, params: Networks, here: Array, actions: Array) -> Array:
        """Predicted embedding of the next state, u + D([u; a])."""
        return here + apply_mlp(params.dynamics, here, actions)

    def advantage(self, params: Params, batch: Batch, goals: Array, encode: Encode) -> Array:
        """V(s', z) - V(s, z)."""
        inputs = [(states, encode(states, goals)) for states in (batch.next_observations, batch.observations)]
        following, current = (self.state_value(params, *pair).mean(axis=0) for pair in inputs)
        return following - current

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss:
        states = batch.observations, batch.next_observations, batch.value_goals.states
        here, following, goal = (apply_mlp(params.embed, array) for array in states)
        far = interval_distance(params.mix, here, goal)
        negative = (100 * jax.nn.softplus(5 - far / 100)).mean()
        excess = jnp.square(jax.nn.relu(interval_distance(params.mix, here, following) - 1)).mean()
        multiplier = jnp.exp(params.multiplier)
        bound = stop_gradient(multiplier) * excess + multiplier * (self.slack - stop_gradient(excess))

        predicted = self.after(params, here, batch.actions)
        pairs = (following, predicted), (predicted, following)
        dynamics = 0.5 * sum((interval_distance(params.mix, *pair) for pair in pairs), jnp.zeros(())).mean()
        distilled = self.distill(params, here, far, encode(batch.observations, batch.value_goals.vectors))
        found = {"spread": negative, "excess": excess, "multiplier": multiplier, "dynamics": dynamics, "mean": -far.mean()}
        return negative + bound + dynamics + distilled, found

    def distill(self, params: Networks, here: Array, far: Array, goals: Array) -> Array:
        """Squared error of the distances to represented goals from the distances `far`; 0 if there is no ensemble."""
        if params.distilled is None:
            return jnp.zeros(())
        found = self.distance(params, stop_gradient(here), goals)
        return jnp.square(found - stop_gradient(far)).mean(axis=1).sum()
