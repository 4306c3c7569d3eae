"""Calls of the C++ functions, which take and return float32 arrays on a CPU."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import AxisType

from mvl.nets.native.library import disabled_reason


def enabled(*arrays: Array) -> bool:
    """Whether a computation on these arrays, traced here, is to run natively."""
    return all(array.dtype == jnp.float32 for array in arrays) and not _partitioned() and not disabled_reason()


def _partitioned() -> bool:
    """Whether the compiler partitions this program over several devices: it could not do that to a call of foreign code."""
    mesh = jax.sharding.get_abstract_mesh()
    return any(size > 1 and kind == AxisType.Auto for size, kind in zip(mesh.axis_sizes, mesh.axis_types, strict=True))


def call(target: str, shapes: Sequence[tuple[int, ...]], *arrays: Array, aliases: dict[int, int] | None = None, **settings: Any):
    """Arrays of these shapes, computed by a C++ function; with aliases (argument: result), in the arguments' memory."""
    made = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    function = jax.ffi.ffi_call(target, made, vmap_method="sequential", input_output_aliases=aliases)
    return function(*arrays, **settings, devices=jax.local_device_count())  # devices share the cores
