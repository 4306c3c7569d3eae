"""Adam, and target networks that slowly follow the parameters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mvl.nets.native.adam import adam
from mvl.nets.native.calls import enabled

BETAS, EPSILON = (0.9, 0.999), 1e-8


class Variables(NamedTuple):
    """What an optimizer step changes."""

    params: Any
    targets: Any
    optimizer: Any


def optimizer(rate: float) -> optax.GradientTransformation:
    return optax.adam(rate, *BETAS, EPSILON)


def adam_step(before: Variables, gradients: Any, rate: float, target_rate: float, targets_of: Callable[[Any], Any]) -> Variables:
    """One Adam step; the targets move towards the parameters from before the step (as in OGBench).

    `targets_of` selects from a tree of parameters those that have a target.
    """
    if enabled(*jax.tree.leaves((before.params, before.targets))):
        return _native_adam_step(before, gradients, rate, target_rate, targets_of)
    updates, state = optimizer(rate).update(gradients, before.optimizer)
    targets = optax.incremental_update(targets_of(before.params), before.targets, target_rate)
    return Variables(optax.apply_updates(before.params, updates), targets, state)


def _native_adam_step(
    before: Variables, gradients: Any, rate: float, target_rate: float, targets_of: Callable[[Any], Any]
) -> Variables:
    """`adam_step` in C++, in one pass over all arrays."""
    count, mu, nu = (optax.tree.get(before.optimizer, name, filtering=_is_adam) for name in ("count", "mu", "nu"))
    count = optax.safe_increment(count)
    first, second = (1 - jnp.power(beta, count.astype(jnp.float32)) for beta in BETAS)
    rates = jnp.stack([*map(jnp.asarray, (*BETAS, EPSILON, target_rate)), rate / first, 1 / second])
    indices = _target_indices(before.params, targets_of)
    params, mu, nu, targets = adam(rates, gradients, before.params, mu, nu, before.targets, indices)
    return Variables(params, targets, optax.tree.set(before.optimizer, _is_adam, count=count, mu=mu, nu=nu))


def _is_adam(path: tuple[Any, ...], _: Any) -> bool:
    """Whether a path in the optimizer's state ends at a member of Adam's state, not at a parameter of the same name."""
    return bool(getattr(path[-1], "tuple_name", "") == optax.ScaleByAdamState.__name__)


def _target_indices(params: Any, targets_of: Callable[[Any], Any]) -> list[int]:
    """For every leaf of the parameters, the index of the target leaf that follows it; -1 for none."""
    count = len(jax.tree.leaves(params))
    order = jax.tree.leaves(targets_of(jax.tree.unflatten(jax.tree.structure(params), range(count))))
    return [order.index(leaf) if leaf in order else -1 for leaf in range(count)]
