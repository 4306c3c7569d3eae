"""Time per training step, as ratios taken in one run: against plain GCIVL and against this machine's matrix products.

Floating-point operations of a plain step are counted by one fixed formula, whatever the code does: 2 x in x out per
dense layer and row, for 17 passes of one network (copies on s and s': 4; value heads forward and backward: 6;
advantage on s and s': 4; policy forward and backward: 3).
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.goals import on_device
from mvl.learn.learner import Learner
from mvl.learn.loop import initial_state, over_seeds
from mvl.recipes.families import FAMILIES
from mvl.recipes.presets import named_recipe
from mvl.registry import AXES
from mvl.types import Shapes

SIZES = {"cpu": None, "256 x 256": (256, 256), "1024 x 512": (1024, 512)}
REGULARIZED = [f"{name}{suffix}" for name in ("gcivl", "dual", "hiql") for suffix in ("", "-mvl", "-eik")]
RECIPES = [*REGULARIZED, *[name for name in FAMILIES if name not in REGULARIZED]]
DIMENSIONS = 2


def best_time(function: Callable[[], Any], repeats: int = 3) -> float:
    """Seconds of the fastest call, after one that compiles."""
    jax.block_until_ready(function())
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - began)
    return min(times)


@partial(jax.jit, static_argnums=2)
def products(x: jax.Array, w: jax.Array, count: int) -> jax.Array:
    return jax.lax.fori_loop(0, count, lambda _, y: y @ w, x)


def matmul_rate() -> float:
    """Best float32 matrix-multiply rate over several sizes, many products in one call."""
    rates = []
    for rows, width in ((256, 256), (1024, 512), (2048, 1024), (2048, 2048)):
        count = max(1, int(2e10 / (2 * rows * width * width)))
        x, w = jnp.ones((rows, width)), jnp.eye(width)
        rates.append(2 * rows * width * width * count / best_time(partial(products, x, w, count)))
    return max(rates)


def plain_operations(batch: int, widths: tuple[int, ...]) -> float:
    sizes = (2 * DIMENSIONS, *widths, 1)
    return 17.0 * batch * sum(2 * a * b for a, b in pairwise(sizes))


def random_walk() -> Dataset:
    generator = np.random.default_rng(0)
    actions = generator.uniform(-1, 1, (100, 1001, DIMENSIONS))
    states = np.cumsum(0.2 * actions, axis=1)
    return Dataset.from_episodes(zip(states, actions, strict=True))


def step_seconds(name: str, size: tuple[int, int] | None, seeds: int, steps: int) -> tuple[float, float]:
    """Seconds per step, and operations of a plain step of that size."""
    data = random_walk()
    recipe, _ = named_recipe(name, "cpu")
    if size is not None:
        widths = (size[1],) * 3
        wide = [axis for axis in AXES if hasattr(getattr(recipe, axis), "widths")]
        parts = {axis: replace(getattr(recipe, axis), widths=widths) for axis in wide}
        recipe = replace(recipe, **parts, learning=replace(recipe.learning, batch_size=size[0]))
    learner = Learner(recipe.fit(data.statistics), Shapes(DIMENSIONS, DIMENSIONS, DIMENSIONS))
    state, rows = initial_state(learner, list(range(seeds))), on_device(data)
    run = jax.jit(over_seeds(lambda s, d: learner.steps(s, d, steps), seeds, shared=1))
    widths = recipe.policy.widths  # type: ignore[attr-defined]
    return best_time(lambda: run(state, rows)) / steps, plain_operations(recipe.learning.batch_size, widths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="*", default=["cpu"], choices=list(SIZES))
    parser.add_argument("--recipes", nargs="*", default=RECIPES, help="what to measure besides gcivl")
    parser.add_argument("--steps", type=int, default=100, help="steps per measurement")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    options = parser.parse_args()
    rate = matmul_rate()
    print(f"matrix multiply: {rate / 1e9:.0f} GFLOP/s")
    print(f"{'size':<12}{'recipe':<12}{'seeds':>6}{'ms/step':>10}{'x plain':>9}{'of matmul rate':>16}")
    found = []
    for size in options.sizes:
        plain = None
        for name, seeds in [*[(name, 1) for name in dict.fromkeys(("gcivl", *options.recipes))], ("gcivl", 4)]:
            seconds, operations = step_seconds(name, SIZES[size], seeds, options.steps)
            plain = plain or seconds
            share = operations * seeds / seconds / rate
            found.append(
                {"size": size, "recipe": name, "seeds": seeds, "seconds": seconds, "x_plain": seconds / plain, "share": share}
            )
            shown = f"{share:>16.2f}" if name == "gcivl" else f"{'':>16}"
            print(f"{size:<12}{name:<12}{seeds:>6}{1e3 * seconds:>10.2f}{seconds / plain:>9.2f}{shown}", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"matmul_rate": rate, "rows": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
