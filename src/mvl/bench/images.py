"""The step of a recipe that learns from images, and its encoder's gradient inside and outside of a loop."""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mvl.bench.machine import best_time
from mvl.data.dataset import Dataset
from mvl.data.goals import on_device
from mvl.experiment import Experiment
from mvl.learn.learner import Learner
from mvl.learn.loop import dispatches, initial_state
from mvl.runs.data import shapes_of
from mvl.studies.costs import work
from mvl.types import EncodesImages

TASK, SHAPE = "powderworld-easy-play-v0", (32, 32, 6)
CALLS = 4
"""Timed calls: the first compiles, and the fastest of the others counts."""


def image_step(steps: int = 20, episodes: int = 5, **changes: Any) -> dict[str, float]:
    """Seconds of a step of plain GCIVL at `cpu` on random images, its operations, and seconds of the gradients."""
    experiment = Experiment.from_preset(TASK, "gcivl", "cpu").with_settings(changes)
    random, shape = np.random.default_rng(0), (episodes, 201, *SHAPE)
    actions = random.uniform(-1, 1, (episodes, 201, 8))
    data = Dataset.from_episodes(zip(random.integers(256, size=shape, dtype=np.uint8), actions, strict=True))
    learner = Learner(experiment.recipe, shapes_of(data))
    calls = dispatches(learner, initial_state(learner, [0]), on_device(data), CALLS * steps, steps)
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        next(calls)
        times.append(time.perf_counter() - began)
    seconds = min(times[1:]) / steps
    return {"seconds": seconds, "operations": work(experiment, SHAPE[0], SHAPE), **gradients(experiment, steps)}


def gradients(experiment: Experiment, steps: int) -> dict[str, float]:
    """Seconds of a gradient of the encoder on a batch of pairs: alone, and in a loop that uses it to change the encoder."""
    encoder, count = experiment.recipe.encoder, experiment.recipe.learning.batch_size
    assert isinstance(encoder, EncodesImages), "the task has images"
    pair = (*SHAPE[:2], 2 * SHAPE[2])
    params = encoder.init(jax.random.key(0), pair)
    images = jnp.asarray(np.random.default_rng(0).integers(256, size=(count, *pair), dtype=np.uint8))
    gradient = jax.jit(jax.grad(lambda params: jnp.square(encoder.encode(params, images)).mean()))

    @jax.jit
    def loop(params: Any) -> Any:
        moved = lambda now, _: (jax.tree.map(lambda a, b: a - 1e-3 * b, now, gradient(now)), None)
        return jax.lax.scan(moved, params, length=steps)[0]

    return {"alone": best_time(lambda: gradient(params)), "in_loop": best_time(lambda: loop(params)) / steps}
