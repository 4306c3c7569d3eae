"""Adam, and copies that slowly follow the parameters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from mvl.kernels.adam import adam
from mvl.kernels.calls import usable

BETAS, EPSILON = (0.9, 0.999), 1e-8


class Moved(NamedTuple):
    params: Any
    targets: Any
    optimizer: Any


def optimizer(rate: float) -> optax.GradientTransformation:
    return optax.adam(rate, *BETAS, EPSILON)


def move(before: Moved, gradients: Any, rate: float, follow: float, copied: Callable[[Any], Any], kernels: bool) -> Moved:
    """One Adam step; the copies move towards the parameters from before the step (as OGBench).

    `copied` gives of any tree of parameters the part that there are copies of.
    """
    if not (kernels and usable(*jax.tree.leaves((before.params, before.targets)))):
        updates, state = optimizer(rate).update(gradients, before.optimizer)
        targets = optax.incremental_update(copied(before.params), before.targets, follow)
        return Moved(optax.apply_updates(before.params, updates), targets, state)
    averages, *others = before.optimizer
    count = optax.safe_increment(averages.count)
    first, second = (1 - jnp.power(beta, count.astype(jnp.float32)) for beta in BETAS)
    rates = jnp.stack([*map(jnp.asarray, (*BETAS, EPSILON, follow)), rate / first, 1 / second])
    params, mu, nu, targets = adam(
        rates, gradients, before.params, averages.mu, averages.nu, before.targets, _places(before.params, copied)
    )
    return Moved(params, targets, (averages._replace(count=count, mu=mu, nu=nu), *others))


def _places(params: Any, copied: Callable[[Any], Any]) -> list[int]:
    """For every leaf of the parameters, which leaf of the copies follows it; -1 for none."""
    count = len(jax.tree.leaves(params))
    order = jax.tree.leaves(copied(jax.tree.unflatten(jax.tree.structure(params), range(count))))
    return [order.index(leaf) if leaf in order else -1 for leaf in range(count)]
