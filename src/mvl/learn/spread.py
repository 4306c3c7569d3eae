"""Seeds side by side on a CPU: every core trains some of them, because a small network cannot keep two cores busy."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec


def core_numbers() -> list[int]:
    """That this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def cores() -> int:
    """How many this process may use."""
    return len(core_numbers())


def share_cores(seeds: int) -> None:
    """Have the CPU count as several devices, for equal shares of the seeds; too late, and so in vain, once jax is at work."""
    if jax.config.values["jax_num_cpu_devices"] < 1:  # nobody has asked for a number
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", shares(seeds, cores()))


def shares(seeds: int, most: int) -> int:
    """Into how many equal shares the seeds can be put."""
    return max(count for count in range(1, max(1, most) + 1) if seeds % count == 0)


@dataclass(frozen=True)
class Spread:
    """A CPU's devices in one row, each with its own seeds and a copy of the data."""

    mesh: Mesh

    @classmethod
    def over(cls, seeds: int) -> "Spread | None":
        """None where there is only one share, or another kind of device."""
        count = shares(seeds, len(jax.local_devices()))
        if count == 1 or jax.default_backend() != "cpu":
            return None
        return cls(Mesh(np.array(jax.local_devices()[:count]), ("seeds",), axis_types=(AxisType.Auto,)))

    def on_each(self, function: Callable[..., Any], shared: int) -> Callable[..., Any]:
        """The function on every device, for its seeds, which lie along the first axis of all but the last `shared` arguments."""
        mine, whole = PartitionSpec("seeds"), PartitionSpec()

        def spread(*args: Any) -> Any:
            given = (*[mine] * (len(args) - shared), *[whole] * shared)
            return jax.shard_map(function, mesh=self.mesh, in_specs=given, out_specs=mine, check_vma=False)(*args)

        return spread

    def copied(self, state: Any) -> Any:
        """Every seed's part to its device."""
        return jax.device_put(state, NamedSharding(self.mesh, PartitionSpec("seeds")))

    def whole(self, data: Any) -> Any:
        """A copy for every device."""
        return jax.device_put(data, NamedSharding(self.mesh, PartitionSpec()))

    def own_copy(self, state: Any) -> Any:
        """All seeds together on one device."""
        return jax.device_put(state, jax.local_devices()[0])
