"""Nothing asked."""

from dataclasses import dataclass

import jax.numpy as jnp

from mvl.types import Field, Key, Loss


@dataclass(frozen=True)
class Unregularized:
    """The value surface is left as the value loss makes it."""

    def __call__(self, field: Field, key: Key) -> Loss:
        return jnp.zeros(()), {}
