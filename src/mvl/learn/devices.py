"""Several devices: seeds trained side by side, or one batch split over all of them."""

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from mvl.batches import Batch
from mvl.errors import UsageError
from mvl.machine import cores
from mvl.nets.native.library import disabled_reason


def arithmetic(sharding: "BatchSharding | None") -> dict[str, Any]:
    """What the order of a step's sums depends on, and so the last digits of its results."""
    devices = sharding.mesh.size if sharding else 1
    return {"native": not disabled_reason(), "devices": devices, "backend": jax.default_backend()}


def share_cores(seeds: int) -> None:
    """Make JAX treat the CPU as several devices, each for an equal share of the seeds.

    Has no effect after JAX has initialized, or if the number of CPU devices was set by the user.
    """
    if jax.config.values["jax_num_cpu_devices"] < 1:
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", equal_groups(seeds, cores()))  # type: ignore[no-untyped-call]


def equal_groups(seeds: int, limit: int) -> int:
    """The largest number of equal groups that the seeds can be divided into, at most `limit`."""
    return max(count for count in range(1, max(1, limit) + 1) if seeds % count == 0)


@dataclass(frozen=True)
class SeedSharding:
    """CPU devices, each of which trains some of the seeds on its own copy of the data."""

    mesh: Mesh

    @classmethod
    def over(cls, seeds: int) -> "SeedSharding | None":
        """None if one device trains all seeds: they cannot be divided equally, or it is not a CPU."""
        count = equal_groups(seeds, len(jax.local_devices()))
        if count == 1 or jax.default_backend() != "cpu":
            return None
        return cls(Mesh(np.array(jax.local_devices()[:count]), ("seeds",), axis_types=(AxisType.Auto,)))

    def on_each(self, function: Callable[..., Any], shared: int) -> Callable[..., Any]:
        """`function` on every device for its own seeds; all but the last `shared` arguments have a leading seed axis."""
        by_seed, replicated = _spec("seeds"), _spec()

        def distributed(*args: Any) -> Any:
            specs = (*[by_seed] * (len(args) - shared), *[replicated] * shared)
            return jax.shard_map(function, mesh=self.mesh, in_specs=specs, out_specs=by_seed, check_vma=False)(*args)

        return distributed

    def place(self, state: Any) -> Any:
        """The state with its leading seed axis split over the devices."""
        return jax.device_put(state, NamedSharding(self.mesh, _spec("seeds")))

    def replicate(self, data: Any) -> Any:
        """A copy of the data on every device."""
        return jax.device_put(data, NamedSharding(self.mesh, _spec()))

    def to_one_device(self, state: Any) -> Any:
        """The state of all seeds on one device."""
        return jax.device_put(state, jax.local_devices()[0])


@dataclass(frozen=True)
class BatchSharding:
    """Devices over which every batch is split, in the order of their processes; each process has equally many."""

    mesh: Mesh

    @classmethod
    def over(cls, count: int | None, batch_size: int) -> "BatchSharding | None":
        """Over `count` devices (default: one, or all if there are several processes); None for a single device."""
        processes = jax.process_count()
        if count is None:
            count = 1 if processes == 1 else jax.device_count()
        if count < 1:
            raise UsageError(f"--devices must be at least 1, not {count}.")
        if batch_size % count:
            raise UsageError(f"a batch of {batch_size} cannot be split evenly over {count} devices; change --batch-size.")
        if count == 1 == processes:
            return None
        return cls(Mesh(np.array(_choose_devices(count, processes)), ("batch",), axis_types=(AxisType.Auto,)))

    @property
    def replicated(self) -> NamedSharding:
        """The sharding of arrays that every device has a copy of."""
        return NamedSharding(self.mesh, _spec())

    def partitioning(self) -> AbstractContextManager[Any]:
        """Context in which functions are compiled as one program partitioned over these devices."""
        return jax.set_mesh(self.mesh)

    def place(self, tree: Any) -> Any:
        """A copy of the tree on each device; an array that occurs twice in it is copied once."""
        known: dict[Hashable, Array] = {}

        def copy(leaf: Any) -> Array:
            if id(leaf) not in known:
                known[id(leaf)] = _from_local(self.replicated, leaf)
            return known[id(leaf)]

        return jax.tree.map(copy, tree)

    def to_one_device(self, tree: Any) -> Any:
        """This process's copy of a replicated tree, on one device."""
        return jax.tree.map(lambda leaf: leaf.addressable_data(0), tree)

    def constrain(self, batches: Batch) -> Batch:
        """Batches (steps, batch, ...) split over the devices; for use inside a compiled function."""

        def constrain(leaf: Array) -> Array:
            return jax.lax.with_sharding_constraint(leaf, self._split_axis(1, leaf))  # type: ignore[no-any-return,no-untyped-call]

        return _map_batch(constrain, batches)

    def local_part(self, batches: Batch) -> Batch:
        """The rows of batches (seeds, steps, batch, ...) that belong to this process's devices."""

        def part(leaf: Array) -> Array:
            if leaf.ndim < 3:  # the discount, which has no batch axis
                return leaf
            size = leaf.shape[2] // jax.process_count()
            return leaf[:, :, jax.process_index() * size :][:, :, :size]

        return _map_batch(part, batches)

    def from_local_parts(self, parts: Batch) -> Batch:
        """Batches (seeds, steps, batch, ...) split over the devices, made from the local parts of all processes."""
        return _map_batch(lambda leaf: _from_local(self._split_axis(2, leaf), leaf), parts)

    def _split_axis(self, axis: int, leaf: Array) -> NamedSharding:
        """The sharding of an array whose batch axis is `axis`; replicated if it has none."""
        spec = _spec(*[None] * axis, "batch") if leaf.ndim > axis else _spec()
        return NamedSharding(self.mesh, spec)


def _spec(*axes: str | None) -> PartitionSpec:
    """The mesh axis that each axis of an array is split over; None: not split."""
    return PartitionSpec(*axes)  # type: ignore[no-untyped-call]


def _from_local(sharding: NamedSharding, local: Array) -> Array:
    """An array of all processes, made from the part of this one."""
    return jax.make_array_from_process_local_data(sharding, np.asarray(local))  # type: ignore[no-any-return,no-untyped-call]


def _map_batch(function: Callable[[Array], Array], batch: Batch) -> Batch:
    """A batch with the function applied to every array."""
    mapped: Batch = jax.tree.map(function, batch)
    return mapped


def _choose_devices(count: int, processes: int) -> list[jax.Device]:
    """`count` devices, equally many of every process."""
    if count % processes:
        raise UsageError(f"{count} devices cannot be shared evenly by {processes} processes; change --devices.")
    each, chosen = count // processes, []
    for process in range(processes):
        available = [device for device in jax.devices() if device.process_index == process]
        if len(available) < each:
            where = "here" if processes == 1 else f"at process {process} of {processes}"
            have = "there is only 1" if len(available) == 1 else f"there are only {len(available)}"
            hint = f" (JAX_NUM_CPU_DEVICES={each} splits a CPU)" if available[0].platform == "cpu" else ""
            raise UsageError(f"{each} devices were asked for, but {have} {where}{hint}; change --devices.")
        chosen += available[:each]
    return chosen
