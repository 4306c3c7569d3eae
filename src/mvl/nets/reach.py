"""Critics that are logits h: sigmoid h(s, a, g) estimates discount^n, n being the number of steps from (s, a) to g."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.batches import Batch
from mvl.nets.mlp import MLP, apply_ensemble, init_ensemble
from mvl.types import Encode, Key, Loss, Shapes


class Critics(NamedTuple):
    """Two heads for goals that are states, and two more for represented goals if these are not the states themselves."""

    states: MLP
    told: MLP | None
    """For represented goals; the name is part of the checkpoint format."""


def init_critics(key: Key, shapes: Shapes, widths: tuple[int, ...]) -> Critics:
    first, second = jax.random.split(key)
    inputs = shapes.observation + shapes.action
    represented = None if shapes.plain else init_ensemble(second, 2, inputs + shapes.represented, widths, 1, norm=True)
    return Critics(init_ensemble(first, 2, inputs + shapes.observation, widths, 1, norm=True), represented)


def logits(critic: MLP, states: Array, actions: Array, goals: Array) -> Array:
    """h(s, a, g) of each head, (heads, ...)."""
    return apply_ensemble(critic, states, goals, actions)[..., 0]


def represented_logits(critics: Critics, states: Array, actions: Array, goals: Array) -> Array:
    """h(s, a, z) for represented goals z, (heads, ...)."""
    return logits(critics.states if critics.told is None else critics.told, states, actions, goals)


def steps_of_logits(logit: Array, discount: float) -> Array:
    """n with sigmoid(h) = discount^n."""
    return jax.nn.log_sigmoid(logit) / jnp.log(discount)


def cross_entropy(logit: Array, target: Array) -> Array:
    """-y log sigmoid(h) - (1 - y) log(1 - sigmoid(h)) for logits h and targets y."""
    return jax.nn.softplus(logit) - target * logit


def distill(critics: Critics, found: Array, states: Array, actions: Array, goals: Array) -> Array:
    """Loss that fits the heads for represented goals to the outputs `found` of the heads for states, on the same goals."""
    if critics.told is None:
        return jnp.zeros(())
    return cross_entropy(represented_logits(critics, states, actions, goals), stop_gradient(jax.nn.sigmoid(found))).mean()


def with_base_cases(target: Array, offsets: Array, discount: Array) -> Array:
    """The target with known values filled in: 1 if the goal is the state itself, the discount if it is the next state."""
    return jnp.where(offsets == 0, 1.0, jnp.where(offsets == 1, discount, target))


def fit(critics: Critics, target: Array, batch: Batch, encode: Encode) -> Loss:
    """Cross-entropy of the critics with the target for each value goal, plus the loss of `distill`."""
    inputs, goals = (batch.observations, batch.actions), batch.value_goals
    found = logits(critics.states, *inputs, goals.states)
    loss = cross_entropy(found, stop_gradient(target)).mean()
    distilled = distill(critics, found, *inputs, encode(batch.observations, goals.vectors))
    return loss + distilled, {"mean": found.mean(), "target": target.mean(), "distilled": distilled}
