"""Soft actor-critic (Haarnoja et al. 2018): maximizes reward plus entropy.

critics      Q(s, a) ~ r + discount (1 - ended) [min Q'(s', a') - temperature log pi(a'|s')],  a' ~ pi(s')
actor        max E[ min Q(s, a) - temperature log pi(a|s) ]
temperature  adapts until the entropy of pi is the target entropy
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
"""The range that a policy's log standard deviations are clipped to."""


class Transitions(NamedTuple):
    """Transitions of a replay buffer, as arrays of NumPy or JAX."""

    states: Any  # (..., states)
    actions: Any  # (..., actions)
    rewards: Any  # (...,)
    ended: Any  # (...,) 1 if the episode ended, so that nothing is bootstrapped
    next_states: Any  # (..., states)


class Nets(NamedTuple):
    """Trained parameters."""

    actor: MLP
    critics: MLP  # two heads
    log_temperature: Array


class AgentState(NamedTuple):
    """Everything that changes during training."""

    nets: Nets
    target: MLP  # target network of the critics
    moments: Any  # of Adam
    key: Key


@dataclass(frozen=True)
class SoftActorCritic:
    """Settings of an agent."""

    states: int
    actions: int
    widths: tuple[int, ...] = (256, 256)
    learning_rate: float = 3e-4
    discount: float = 0.99
    target_rate: float = 0.005
    first_temperature: float = 0.1
    entropy_per_action: float = -0.5
    """Target entropy, for each dimension of the action."""

    def init(self, key: Key) -> AgentState:
        actor_key, critic_key, key = jax.random.split(key, 3)
        actor = init_mlp(actor_key, self.states, self.widths, 2 * self.actions, norm=False, final=small)
        critics = init_ensemble(critic_key, 2, self.states + self.actions, self.widths, 1, norm=False)
        nets = Nets(actor, critics, jnp.log(self.first_temperature))
        return AgentState(nets, critics, optax.adam(self.learning_rate).init(nets), key)

    def act(self, actor: MLP, states: Array, key: Key) -> tuple[Array, Array]:
        """A sample from the policy, and its log density."""
        mean, log_deviation = jnp.split(apply_mlp(actor, states), 2, axis=-1)
        log_deviation = jnp.clip(log_deviation, *LOG_DEVIATIONS)
        noise = jax.random.normal(key, mean.shape)
        raw = mean + jnp.exp(log_deviation) * noise
        normal = -0.5 * noise**2 - log_deviation - 0.5 * math.log(2 * math.pi)
        squash = 2 * (math.log(2) - raw - jax.nn.softplus(-2 * raw))  # log(1 - tanh(raw)^2), without cancellation
        return jnp.tanh(raw), (normal - squash).sum(-1)

    def loss(self, nets: Nets, target: MLP, batch: Transitions, key: Key) -> Array:
        """The sum of the losses of critics, actor and temperature."""
        act_key, next_key = jax.random.split(key)
        temperature = jnp.exp(nets.log_temperature)
        constant = jax.lax.stop_gradient

        next_actions, next_log = self.act(constant(nets.actor), batch.next_states, next_key)
        next_values = apply_ensemble(target, batch.next_states, next_actions)[..., 0].min(0) - constant(temperature) * next_log
        bootstrapped = batch.rewards + self.discount * (1 - batch.ended) * next_values
        values = apply_ensemble(nets.critics, batch.states, batch.actions)[..., 0]
        critic_loss = jnp.square(values - constant(bootstrapped)).mean()

        actions, log = self.act(nets.actor, batch.states, act_key)
        action_values = apply_ensemble(constant(nets.critics), batch.states, actions)[..., 0].min(0)
        actor_loss = (constant(temperature) * log - action_values).mean()
        entropy = -constant(log).mean()
        return critic_loss + actor_loss + temperature * (entropy - self.entropy_per_action * self.actions)

    def update(self, state: AgentState, batch: Transitions) -> AgentState:
        """One gradient step of all parameters, then one of the target towards the critics."""
        key, loss_key = jax.random.split(state.key)
        gradients = jax.grad(self.loss)(state.nets, state.target, batch, loss_key)
        changes, moments = optax.adam(self.learning_rate).update(gradients, state.moments)
        nets = optax.apply_updates(state.nets, changes)
        target = jax.tree.map(lambda old, new: old + self.target_rate * (new - old), state.target, nets.critics)
        return AgentState(nets, target, moments, key)

    def updates(self, state: AgentState, batches: Transitions) -> AgentState:
        """One update for each of the batches, which are stacked along a leading axis."""
        return jax.lax.scan(lambda state, batch: (self.update(state, batch), None), state, batches)[0]
