"""Adam, and copies that slowly follow the parameters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mvl.nets.native.adam import adam
from mvl.nets.native.calls import enabled

BETAS, EPSILON = (0.9, 0.999), 1e-8


class Moved(NamedTuple):
    params: Any
    targets: Any
    optimizer: Any


def optimizer(rate: float) -> optax.GradientTransformation:
    return optax.adam(rate, *BETAS, EPSILON)


def move(before: Moved, gradients: Any, rate: float, follow: float, copied: Callable[[Any], Any]) -> Moved:
    """One Adam step; the copies move towards the parameters from before the step (as OGBench).

    `copied` gives of any tree of parameters the part that there are copies of.
    """
    if enabled(*jax.tree.leaves((before.params, before.targets))):
        return _move_natively(before, gradients, rate, follow, copied)
    updates, state = optimizer(rate).update(gradients, before.optimizer)
    targets = optax.incremental_update(copied(before.params), before.targets, follow)
    return Moved(optax.apply_updates(before.params, updates), targets, state)


def _move_natively(before: Moved, gradients: Any, rate: float, follow: float, copied: Callable[[Any], Any]) -> Moved:
    """The same in one pass over all arrays."""
    count, mu, nu = (optax.tree.get(before.optimizer, name, filtering=_is_adam) for name in ("count", "mu", "nu"))
    count = optax.safe_increment(count)
    first, second = (1 - jnp.power(beta, count.astype(jnp.float32)) for beta in BETAS)
    rates = jnp.stack([*map(jnp.asarray, (*BETAS, EPSILON, follow)), rate / first, 1 / second])
    params, mu, nu, targets = adam(rates, gradients, before.params, mu, nu, before.targets, _places(before.params, copied))
    return Moved(params, targets, optax.tree.set(before.optimizer, _is_adam, count=count, mu=mu, nu=nu))


def _is_adam(path: tuple[Any, ...], _: Any) -> bool:
    """Whether a path in the optimizer's state ends at a field of Adam's, rather than at a parameter of the same name."""
    return getattr(path[-1], "tuple_name", "") == optax.ScaleByAdamState.__name__


def _places(params: Any, copied: Callable[[Any], Any]) -> list[int]:
    """For every leaf of the parameters, which leaf of the copies follows it; -1 for none."""
    count = len(jax.tree.leaves(params))
    order = jax.tree.leaves(copied(jax.tree.unflatten(jax.tree.structure(params), range(count))))
    return [order.index(leaf) if leaf in order else -1 for leaf in range(count)]
