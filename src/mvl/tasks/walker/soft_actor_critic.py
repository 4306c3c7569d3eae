"""Soft actor-critic (Haarnoja et al. 2018): the most reward, and the most entropy beside it.

critics      Q(s, a) ~ r + discount (1 - ended) [min Q'(s', a') - temperature log pi(a'|s')],  a' ~ pi(s')
actor        max E[ min Q(s, a) - temperature log pi(a|s) ]
temperature  moves until the entropy of pi is the wanted one
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from mvl.nets.mlp import MLP, apply_ensemble, apply_mlp, init_ensemble, init_mlp, small
from mvl.types import Key

LOG_DEVIATIONS = -5.0, 2.0
"""The range a policy's log standard deviations are kept in."""


class Step(NamedTuple):
    """Transitions of a replay."""

    states: Any  # (..., states), arrays of either kind
    actions: Any  # (..., actions)
    rewards: Any  # (...,)
    ended: Any  # (...,)
    nexts: Any  # (..., states)


class Nets(NamedTuple):
    actor: MLP
    critics: MLP  # two heads
    log_temperature: Array


class State(NamedTuple):
    nets: Nets
    target: MLP
    moments: Any
    key: Key


@dataclass(frozen=True)
class SoftActorCritic:
    """One agent's settings."""

    states: int
    actions: int
    widths: tuple[int, ...] = (256, 256)
    learning_rate: float = 3e-4
    discount: float = 0.99
    target_rate: float = 0.005
    first_temperature: float = 0.1
    entropy_per_action: float = -0.5
    """Wanted entropy for each dimension of the action."""

    def init(self, key: Key) -> State:
        actor_key, critic_key, key = jax.random.split(key, 3)
        actor = init_mlp(actor_key, self.states, self.widths, 2 * self.actions, norm=False, final=small)
        critics = init_ensemble(critic_key, 2, self.states + self.actions, self.widths, 1, norm=False)
        nets = Nets(actor, critics, jnp.log(self.first_temperature))
        return State(nets, critics, optax.adam(self.learning_rate).init(nets), key)

    def act(self, actor: MLP, states: Array, key: Key) -> tuple[Array, Array]:
        """A draw from the policy, and the log of its density."""
        mean, log_deviation = jnp.split(apply_mlp(actor, states), 2, axis=-1)
        log_deviation = jnp.clip(log_deviation, *LOG_DEVIATIONS)
        noise = jax.random.normal(key, mean.shape)
        raw = mean + jnp.exp(log_deviation) * noise
        normal = -0.5 * noise**2 - log_deviation - 0.5 * math.log(2 * math.pi)
        squash = 2 * (math.log(2) - raw - jax.nn.softplus(-2 * raw))  # log(1 - tanh(raw)^2), without cancellation
        return jnp.tanh(raw), (normal - squash).sum(-1)

    def loss(self, nets: Nets, target: MLP, step: Step, key: Key) -> Array:
        here_key, next_key = jax.random.split(key)
        temperature = jnp.exp(nets.log_temperature)
        fixed = jax.lax.stop_gradient

        next_actions, next_log = self.act(fixed(nets.actor), step.nexts, next_key)
        after = apply_ensemble(target, step.nexts, next_actions)[..., 0].min(0) - fixed(temperature) * next_log
        bootstrapped = step.rewards + self.discount * (1 - step.ended) * after
        judged = apply_ensemble(nets.critics, step.states, step.actions)[..., 0]
        critic_loss = jnp.square(judged - fixed(bootstrapped)).mean()

        actions, log = self.act(nets.actor, step.states, here_key)
        worth = apply_ensemble(fixed(nets.critics), step.states, actions)[..., 0].min(0)
        actor_loss = (fixed(temperature) * log - worth).mean()
        entropy = -fixed(log).mean()
        return critic_loss + actor_loss + temperature * (entropy - self.entropy_per_action * self.actions)

    def update(self, state: State, step: Step) -> State:
        """One gradient step of everything, then the target follows."""
        key, loss_key = jax.random.split(state.key)
        gradients = jax.grad(self.loss)(state.nets, state.target, step, loss_key)
        changes, moments = optax.adam(self.learning_rate).update(gradients, state.moments)
        nets = optax.apply_updates(state.nets, changes)
        target = jax.tree.map(lambda old, new: old + self.target_rate * (new - old), state.target, nets.critics)
        return State(nets, target, moments, key)

    def updates(self, state: State, steps: Step) -> State:
        """One update for each of the leading axis's batches, in one dispatch."""
        return jax.lax.scan(lambda state, step: (self.update(state, step), None), state, steps)[0]
