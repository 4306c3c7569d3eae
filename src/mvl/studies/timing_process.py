"""A process that measures how fast this machine is: `python -m mvl.studies.timing_process [CORE]`.

It first prints its devices and their speed. Then it reads questions, one JSON object per line, and prints one JSON object for
each. A question is an experiment, whose training steps are timed, or a task, whose environment is timed.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

STEPS_PER_CALL = 10
MIN_SECONDS, MIN_CALLS = 1.0, 5
"""Least time and number of timed calls; the fastest call counts, since other processes may slow down the others."""


def main() -> None:
    print(json.dumps(machine()), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        answer = {"step": step(**question)} if "experiment" in question else environment_time(**question)
        print(json.dumps(answer), flush=True)


def machine() -> dict[str, Any]:
    """The fields of `mvl.studies.probe.Machine`."""
    import jax
    import jax.numpy as jnp

    rows, width, times = 256, 512, []
    inputs, weights = jnp.ones((rows, width)), jnp.ones((width, width))
    for _ in range(40):  # the first call compiles; short ones, of which some are not interrupted by other processes
        before = time.perf_counter()
        (inputs @ weights).block_until_ready()
        times.append(time.perf_counter() - before)
    device = jax.devices()[0].device_kind
    rate = 2.0 * rows * width * width / min(times)
    return {"backend": jax.default_backend(), "devices": jax.device_count(), "device": device, "rate": rate}


def step(experiment: dict[str, Any], sizes: list[int], seeds: int) -> float:
    """Seconds of one training step of so many seeds, on random walks or images; `sizes` are as in `Estimator`."""
    import jax

    from mvl.data.dataset import Dataset
    from mvl.data.goals import on_device
    from mvl.experiment import Experiment
    from mvl.learn.learner import Learner
    from mvl.learn.loop import initial_state, over_seeds
    from mvl.runs.data import shapes_of, statistics_of

    random, (*observation, action) = np.random.default_rng(0), sizes
    shape, actions = (50, 201, *observation), np.tanh(random.normal(size=(50, 201, action)))
    images = len(observation) > 1
    rows_of = random.integers(256, size=shape, dtype=np.uint8) if images else random.normal(size=shape).cumsum(axis=1)
    data = Dataset.from_episodes(zip(rows_of, actions, strict=True))
    recipe = Experiment.from_json(experiment).recipe
    history = recipe.learning.history
    learner = Learner(recipe.fit(statistics_of(data, None, history)), shapes_of(data, recipe.learning))
    rows, state = on_device(data, history=history), initial_state(learner, list(range(seeds)))
    run = jax.jit(over_seeds(lambda s, d: learner.steps(s, d, STEPS_PER_CALL), seeds, shared=1))
    wait: Callable[[Any], Any] = jax.block_until_ready
    wait(run(state, rows))  # compiles
    times: list[float] = []
    while sum(times) < MIN_SECONDS or len(times) < MIN_CALLS:
        before = time.perf_counter()
        wait(run(state, rows))
        times.append(time.perf_counter() - before)
    return min(times) / STEPS_PER_CALL


def environment_time(task: str) -> dict[str, float]:
    """`play`: seconds of a step of the environment; `length`: most steps of an episode; `tasks`: number of goals."""
    import warnings

    from mvl.tasks import find_task
    from mvl.tasks.simulator import Start

    warnings.simplefilter("ignore")  # Gymnasium and MuJoCo warn about number types
    timed_task = find_task(task)
    simulator = timed_task.make_simulator()
    simulator.reset(Start(1, 0))
    simulator.env.action_space.seed(0)
    action = simulator.env.action_space.sample()  # repeated, as by a policy stuck at a wall, where a step takes longest
    began, count = time.perf_counter(), 100
    for _ in range(count):
        simulator.step(action)
    return {
        "play": (time.perf_counter() - began) / count,
        "length": timed_task.episode_limit(simulator.env),
        "tasks": timed_task.goals,
    }


if __name__ == "__main__":
    if len(sys.argv) > 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(sys.argv[1])})
    main()
