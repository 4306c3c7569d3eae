"""Critics in logits: sigmoid h(s, a, g) is the discount to the power of the steps from (s, a) to g."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.nets.mlp import MLP, apply_ensemble, init_ensemble
from mvl.types import Batch, Encode, Key, Loss, Shapes


class Critics(NamedTuple):
    """Two heads on goals that are states, and two more on goals as the policy is told them, where that is something else."""

    states: MLP
    told: MLP | None


def init_critics(key: Key, shapes: Shapes, widths: tuple[int, ...]) -> Critics:
    first, second = jax.random.split(key)
    inputs = shapes.observation + shapes.action
    told = None if shapes.plain else init_ensemble(second, 2, inputs + shapes.represented, widths, 1, norm=True)
    return Critics(init_ensemble(first, 2, inputs + shapes.observation, widths, 1, norm=True), told)


def logits(critic: MLP, states: Array, actions: Array, goals: Array) -> Array:
    """(heads, ...)."""
    return apply_ensemble(critic, states, goals, actions)[..., 0]


def told_logits(critics: Critics, states: Array, actions: Array, goals: Array) -> Array:
    """For goals as the policy is told them."""
    return logits(critics.states if critics.told is None else critics.told, states, actions, goals)


def steps_of_logits(found: Array, discount: float) -> Array:
    """n with sigmoid(h) = discount^n."""
    return jax.nn.log_sigmoid(found) / jnp.log(discount)


def cross_entropy(found: Array, target: Array) -> Array:
    """-y log sigmoid(h) - (1 - y) log(1 - sigmoid(h))."""
    return jax.nn.softplus(found) - target * found


def distill(critics: Critics, found: Array, states: Array, actions: Array, goals: Array) -> Array:
    """Fit the told critic, head by head, to what the other says of the same goals."""
    if critics.told is None:
        return jnp.zeros(())
    return cross_entropy(told_logits(critics, states, actions, goals), stop_gradient(jax.nn.sigmoid(found))).mean()


def with_base_cases(target: Array, offsets: Array, discount: Array) -> Array:
    """What needs no learning: a state reaches itself at once, and the next one in one step."""
    return jnp.where(offsets == 0, 1.0, jnp.where(offsets == 1, discount, target))


def fit(critics: Critics, target: Array, batch: Batch, encode: Encode) -> Loss:
    """Plain cross-entropy to the target for each goal, and the told critic after it."""
    inputs, goals = (batch.observations, batch.actions), batch.value_goals
    found = logits(critics.states, *inputs, goals.states)
    loss = cross_entropy(found, target).mean()
    distilled = distill(critics, found, *inputs, encode(batch.observations, goals.vectors))
    return loss + distilled, {"mean": found.mean(), "target": target.mean(), "distilled": distilled}
