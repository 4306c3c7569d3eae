"""How kernels are called: arrays of float32 in and out, on a CPU."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from mvl.errors import UsageError
from mvl.kernels.library import why_not


def usable(*arrays: Array) -> bool:
    return all(array.dtype == jnp.float32 for array in arrays) and not why_not()


def call(target: str, shapes: Sequence[tuple[int, ...]], *arrays: Array, aliases: dict[int, int] | None = None, **settings: Any):
    """The arrays of these shapes that a kernel makes of others; with aliases (argument: result), in the arguments' places."""
    made = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    kernel = jax.ffi.ffi_call(target, made, vmap_method="sequential", input_output_aliases=aliases)

    @jax.custom_jvp
    def run(*given: Array) -> Sequence[Array]:
        return kernel(*given, **settings, devices=jax.local_device_count())  # devices share the cores

    @run.defjvp
    def _no_derivative(*_: Any) -> Any:
        raise UsageError("kernels give first derivatives only; for second ones give the network as nets.mlp.smooth(network).")

    return run(*arrays)
