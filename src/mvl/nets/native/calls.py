"""Calls of the C++ functions, which take and return float32 arrays on a CPU."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import AxisType

from mvl.nets.native.library import disabled_reason

_IN_JAX = ContextVar("networks are computed by JAX in the current trace", default=False)


@contextmanager
def without_native() -> Iterator[None]:
    """What is traced in the block runs where the C++ code is not."""
    token = _IN_JAX.set(True)
    try:
        yield
    finally:
        _IN_JAX.reset(token)


def enabled(*arrays: Array) -> bool:
    """Whether a computation on these arrays, in the current trace, can run natively."""
    possible = not _IN_JAX.get() and all(array.dtype == jnp.float32 for array in arrays)
    return possible and not _partitioned() and not disabled_reason()


def _partitioned() -> bool:
    """Whether the compiler partitions this program over several devices, which is impossible for a call of C++ code."""
    mesh = jax.sharding.get_abstract_mesh()
    return any(size > 1 and kind == AxisType.Auto for size, kind in zip(mesh.axis_sizes, mesh.axis_types, strict=True))


def call(
    target: str, shapes: Sequence[tuple[int, ...]], *arrays: Array, aliases: dict[int, int] | None = None, **settings: Any
) -> Sequence[Array]:
    """Results of these shapes of a C++ function; `aliases` (argument: result) have results in the memory of arguments."""
    described: Callable[..., jax.ShapeDtypeStruct] = jax.ShapeDtypeStruct
    results = [described(shape, jnp.float32) for shape in shapes]
    function = jax.ffi.ffi_call(target, results, vmap_method="sequential", input_output_aliases=aliases)
    return function(*arrays, **settings, devices=jax.local_device_count())  # devices share the cores
