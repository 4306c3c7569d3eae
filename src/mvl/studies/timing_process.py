"""How fast is this machine? A process of its own (`python -m mvl.studies.timing_process`): questions in, one JSON line each out.

A question is an experiment to time some steps of, or a task to time its environment; the first line says what devices there are.
"""

import json
import os
import sys
import time
from typing import Any

import numpy as np

CALL = 10
"""Steps in a timed call."""
PATIENCE, CALLS = 1.0, 5
"""Seconds and calls to go on timing for, at least: the best counts, since something else may be at work in the others."""


def main() -> None:
    import jax

    print(json.dumps({"backend": jax.default_backend(), "devices": jax.device_count()}), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        answer = {"step": step(**question)} if "experiment" in question else playing(**question)
        print(json.dumps(answer), flush=True)


def step(experiment: dict[str, Any], sizes: list[int], seeds: int) -> float:
    """Seconds of one training step, on random walks of the data's sizes."""
    import jax

    from mvl.data.dataset import Dataset
    from mvl.data.goals import on_device
    from mvl.experiment import Experiment
    from mvl.learn.learner import Learner
    from mvl.learn.loop import initial_state, over_seeds
    from mvl.types import Shapes

    draw = np.random.default_rng(0).normal
    walks = [(draw(size=(201, sizes[0])).cumsum(axis=0), np.tanh(draw(size=(201, sizes[1])))) for _ in range(50)]
    data = Dataset.from_episodes(walks)
    made = Experiment.from_json(experiment).recipe
    learner = Learner(made.fit(data.statistics), Shapes(sizes[0], sizes[1], sizes[0]))
    rows, state = on_device(data), initial_state(learner, list(range(seeds)))
    run = jax.jit(over_seeds(lambda s, d: learner.steps(s, d, CALL), seeds, shared=1))
    jax.block_until_ready(run(state, rows))
    times: list[float] = []
    while sum(times) < PATIENCE or len(times) < CALLS:
        before = time.perf_counter()
        jax.block_until_ready(run(state, rows))
        times.append(time.perf_counter() - before)
    return min(times) / CALL


def playing(task: str) -> dict[str, float]:
    """Seconds of one step of the environment, steps of an episode that does not succeed, and tasks to try."""
    import warnings

    from mvl.tasks import find_task
    from mvl.tasks.simulator import Start

    warnings.simplefilter("ignore")  # the packages' own, about number types
    found = find_task(task)
    simulator = found.make_simulator()
    simulator.reset(Start(1, 0))
    simulator.env.action_space.seed(0)
    action = simulator.env.action_space.sample()  # kept up, as by a policy that gets stuck: beside a wall a point takes longer
    began, count = time.perf_counter(), 100
    for _ in range(count):
        simulator.step(action)
    return {"play": (time.perf_counter() - began) / count, "length": found.episode_limit(simulator.env), "tasks": found.goals}


if __name__ == "__main__":
    if len(sys.argv) > 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(sys.argv[1])})
    main()
