"""References for speed: this machine's best rate of matrix products, and the operations of a plain step."""

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mvl.data.dataset import Dataset


def best_time(function: Callable[[], Any], repeats: int = 3) -> float:
    """Seconds of the fastest call, after one that compiles."""
    jax.block_until_ready(function())  # type: ignore[no-untyped-call]
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(function())  # type: ignore[no-untyped-call]
        times.append(time.perf_counter() - began)
    return min(times)


@partial(jax.jit, static_argnums=2)
def products(x: jax.Array, w: jax.Array, count: int) -> jax.Array:
    """x multiplied by w, `count` times."""
    result: jax.Array = jax.lax.fori_loop(0, count, lambda _, y: y @ w, x)
    return result


def matmul_rate() -> float:
    """Best rate of float32 matrix products over several sizes, in operations per second; many products in one call."""
    rates = []
    for rows, width in ((256, 128), (256, 256), (1024, 512), (2048, 1024), (2048, 2048)):
        count = max(1, int(1e10 / (2 * rows * width * width)))
        x, w = jnp.ones((rows, width)), jnp.eye(width)
        rates.append(2 * rows * width * width * count / best_time(partial(products, x, w, count)))
    return max(rates)


def plain_operations(batch: int, inputs: int, widths: tuple[int, ...]) -> float:
    """Floating-point operations of a plain GCIVL step, by a fixed formula that does not depend on the code.

    2 x inputs x outputs per dense layer and row, for 17 passes of one network: targets on s and s' 4, value heads forward
    and backward 6, advantage on s and s' 4, policy forward and backward 3.
    """
    return 17.0 * batch * sum(2 * a * b for a, b in pairwise((inputs, *widths, 1)))


def random_walk(dimensions: int, rows: int = 100_000) -> Dataset:
    """A dataset of random walks in episodes of 1001 rows; speed does not depend on its content."""
    generator = np.random.default_rng(0)
    episodes = max(1, rows // 1001)
    actions = generator.uniform(-1, 1, (episodes, 1001, dimensions)).astype(np.float32)
    return Dataset.from_episodes(zip(np.cumsum(0.2 * actions, axis=1), actions, strict=True))


def million_rows(folder: Path) -> Path:
    """Write a data file of the usual size, and a validation file beside it."""
    data = random_walk(2, 1_001_000)
    terminals = np.isin(np.arange(len(data.observations)), data.ends)
    for name, rows in (("walk", slice(None)), ("walk-val", slice(0, 100_100))):
        np.savez(
            folder / f"{name}.npz", observations=data.observations[rows], actions=data.actions[rows], terminals=terminals[rows]
        )
    return folder / "walk.npz"
