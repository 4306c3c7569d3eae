"""Several devices: seeds trained side by side, or one batch split over all of them."""

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from mvl.errors import UsageError
from mvl.machine import cores
from mvl.types import Batch


def share_cores(seeds: int) -> None:
    """Have the CPU count as several devices, for equal shares of the seeds; too late, and so in vain, once jax is at work."""
    if jax.config.values["jax_num_cpu_devices"] < 1:  # nobody has asked for a number
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", shares(seeds, cores()))


def shares(seeds: int, most: int) -> int:
    """Into how many equal shares the seeds can be put."""
    return max(count for count in range(1, max(1, most) + 1) if seeds % count == 0)


@dataclass(frozen=True)
class SeedSharding:
    """A CPU's devices in one row, each with its own seeds and a copy of the data."""

    mesh: Mesh

    @classmethod
    def over(cls, seeds: int) -> "SeedSharding | None":
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


@dataclass(frozen=True)
class BatchSharding:
    """The devices, in one row; those of a process lie side by side, and all processes have equally many."""

    mesh: Mesh

    @classmethod
    def over(cls, count: int | None, batch_size: int) -> "BatchSharding | None":
        """Over so many devices (unless said: one, or with several processes all there are); none for one device."""
        processes = jax.process_count()
        if count is None:
            count = 1 if processes == 1 else jax.device_count()
        if count < 1:
            raise UsageError(f"--devices must be at least 1, not {count}.")
        if batch_size % count:
            raise UsageError(f"a batch of {batch_size} cannot be split evenly over {count} devices; change --batch-size.")
        if count == 1 == processes:
            return None
        return cls(Mesh(np.array(_chosen(count, processes)), ("batch",), axis_types=(AxisType.Auto,)))

    @property
    def everywhere(self) -> NamedSharding:
        """A copy on each device."""
        return NamedSharding(self.mesh, PartitionSpec())

    def partitioning(self) -> AbstractContextManager[Any]:
        """Programs called for the first time within this context are compiled for these devices, as one partitioned program."""
        return jax.set_mesh(self.mesh)

    def copied(self, tree: Any) -> Any:
        """A copy of everything on each device; what is in the tree twice is copied once."""
        known: dict[Hashable, Array] = {}

        def copy(leaf: Any) -> Array:
            if id(leaf) not in known:
                known[id(leaf)] = jax.make_array_from_process_local_data(self.everywhere, np.asarray(leaf))
            return known[id(leaf)]

        return jax.tree.map(copy, tree)

    def own_copy(self, tree: Any) -> Any:
        """This process's copy of what is everywhere, on one device."""
        return jax.tree.map(lambda leaf: leaf.addressable_data(0), tree)

    def cut(self, batches: Batch) -> Batch:
        """Inside of a compiled program: batches (steps, batch, ...) cut up over the devices."""
        return jax.tree.map(lambda leaf: jax.lax.with_sharding_constraint(leaf, self._along(1, leaf)), batches)

    def own_part(self, batches: Batch) -> Batch:
        """The part of batches (seeds, steps, batch, ...) that this process's devices work on."""

        def part(leaf: Array) -> Array:
            if leaf.ndim < 3:  # the discount: the same for all
                return leaf
            size = leaf.shape[2] // jax.process_count()
            return leaf[:, :, jax.process_index() * size :][:, :, :size]

        return jax.tree.map(part, batches)

    def joined(self, parts: Batch) -> Batch:
        """Batches (seeds, steps, batch, ...) on the devices, of which every process gives its own part."""
        put = jax.make_array_from_process_local_data
        return jax.tree.map(lambda leaf: put(self._along(2, leaf), np.asarray(leaf)), parts)

    def _along(self, axis: int, leaf: Array) -> NamedSharding:
        spec = PartitionSpec(*[None] * axis, "batch") if leaf.ndim > axis else PartitionSpec()
        return NamedSharding(self.mesh, spec)


def _chosen(count: int, processes: int) -> list[jax.Device]:
    """Equally many devices of every process."""
    if count % processes:
        raise UsageError(f"{count} devices cannot be shared evenly by {processes} processes; change --devices.")
    each, chosen = count // processes, []
    for process in range(processes):
        there = [device for device in jax.devices() if device.process_index == process]
        if len(there) < each:
            where = "here" if processes == 1 else f"at process {process} of {processes}"
            have = "there is only 1" if len(there) == 1 else f"there are only {len(there)}"
            hint = f" (JAX_NUM_CPU_DEVICES={each} splits a CPU)" if there[0].platform == "cpu" else ""
            raise UsageError(f"{each} devices were asked for, but {have} {where}{hint}; change --devices.")
        chosen += there[:each]
    return chosen
