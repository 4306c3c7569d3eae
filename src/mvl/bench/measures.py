"""The measurements. Each runs in a process of its own, pinned to some cores, and returns numbers by name."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

from mvl.files import scratch_folder
from mvl.machine import largest_memory
from mvl.processes import python_module

Measurement = dict[str, float]
CALLS = 4
"""Timed calls: the first compiles, and the fastest of the others counts."""


def rate() -> Measurement:
    """Best rate of matrix products, in operations per second."""
    from mvl.bench.machine import matmul_rate

    flops = matmul_rate()
    return {"flops": flops, "seconds": 1e9 / flops}


def step(
    recipe: str,
    batch: int | None = None,
    width: int | None = None,
    dimensions: int = 2,
    rows: int = 100_000,
    seeds: int = 1,
    steps: int = 100,
    **regularizer: Any,
) -> Measurement:
    """Seconds per training step, seconds to compile, bytes, and operations of a plain step; sizes of `cpu` by default."""
    from mvl.bench.machine import plain_operations, random_walk
    from mvl.data.goals import on_device
    from mvl.learn.devices import share_cores
    from mvl.learn.learner import Learner
    from mvl.learn.loop import dispatches, initial_state
    from mvl.recipes.presets import named_recipe
    from mvl.registry import AXES
    from mvl.types import Shapes

    share_cores(seeds)
    data = random_walk(dimensions, rows)
    made, _ = named_recipe(recipe, "cpu")
    if width:
        wide = {axis: getattr(made, axis) for axis in AXES if hasattr(getattr(made, axis), "widths")}
        made = replace(made, **{axis: replace(part, widths=(width,) * 3) for axis, part in wide.items()})
    made = replace(made, learning=replace(made.learning, batch_size=batch or made.learning.batch_size))
    made = replace(made, regularizer=replace(made.regularizer, **regularizer))  # type: ignore[type-var]
    learner = Learner(made.fit(data.statistics), Shapes(dimensions, dimensions, dimensions))
    calls = dispatches(learner, initial_state(learner, list(range(seeds))), on_device(data), CALLS * steps, steps)
    first, *others = (_timed(lambda: next(calls)) for _ in range(CALLS))
    seconds, compiling = min(others) / steps, first - min(others)
    size = made.learning.batch_size, 2 * dimensions, getattr(made.policy, "widths", ())
    return {
        "seconds": seconds,
        "compile_seconds": compiling,
        "operations": seeds * plain_operations(*size),
        "bytes": largest_memory(),
    }


def _timed(function: Callable[[], Any]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def evaluation(episodes: int = 50) -> Measurement:
    """Seconds to evaluate pointmaze-medium: in all environments together, and estimated for one environment at a time.

    The policy is untrained, so nearly every episode has full length. The estimate is the time per step of one episode,
    times the number of steps.
    """
    import jax
    import numpy as np

    from mvl.evaluation.acting import as_act, batched_act
    from mvl.evaluation.environments import Environments
    from mvl.evaluation.rollout import play, starts
    from mvl.learn.learner import Learner
    from mvl.learn.loop import initial_state
    from mvl.machine import cores
    from mvl.recipes.presets import named_recipe
    from mvl.tasks import find_task
    from mvl.tasks.ogbench import OgbenchSimulator
    from mvl.types import Shapes

    task = find_task("pointmaze-medium-navigate-v0")
    recipe, _ = named_recipe("gcivl", "cpu")
    learner = Learner(recipe, Shapes(2, 2, 2))
    state = initial_state(learner, [0])
    act = as_act(batched_act(learner, 1, 0.0), state.params)
    with Environments(task, cores()) as environments:
        play(act, environments, 1, episodes, (0,))  # compiles, and makes the environments
        began = time.perf_counter()
        played = play(act, environments, 1, episodes, (1,))
        together = time.perf_counter() - began
    steps = int(played.lengths.sum())

    single, simulator = jax.jit(learner.act), OgbenchSimulator(task)
    params, key = jax.tree.map(lambda leaf: leaf[0], state.params), jax.random.key(0)
    observation, goal = simulator.reset(starts(5, 1, (1,))[1])
    np.asarray(single(params, observation, goal, key, 0.0))
    began, count = time.perf_counter(), 0
    while not simulator.done and count < 1000:
        observation = simulator.step(np.asarray(single(params, observation, goal, key, 0.0)))
        count += 1
    slow = (time.perf_counter() - began) / count * steps
    return {"seconds": together, "slow_seconds": slow, "episodes_per_second": played.success.size / together}


def command(*arguments: str, until: str | None = None) -> Measurement:
    """Seconds of an `mvl` command, or seconds until it prints the text `until`."""
    began = time.perf_counter()
    with scratch_folder() as folder:
        given = [argument.replace("FOLDER", folder) for argument in arguments]
        process = subprocess.Popen(python_module("mvl", *given), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        seconds = None
        for line in process.stdout:
            if until and until in line and seconds is None:
                seconds = time.perf_counter() - began
        process.wait()
    return {"seconds": seconds or time.perf_counter() - began, "failed": float(process.returncode != 0)}


def arriving(nodes: int = 2000, steps: int = 30_000, *generate: str) -> Measurement:
    """Seconds of training until a planned policy reaches 0.6 and 0.95 of the goals of pointmaze-medium, seed 0; and of planning.

    Training time is steps by the speed between evaluations; infinite if a success is not reached in that many steps.
    """
    from mvl.runs import metrics
    from mvl.runs.training import train

    task = "pointmaze-medium-navigate-v0"
    with scratch_folder() as folder, redirect_stdout(sys.stderr):
        subprocess.run(python_module("mvl", "data", "generate", task, "--data", folder, *generate), stdout=sys.stderr, check=True)
        schedule: dict[str, Any] = {"steps": steps, "eval_every": 2_000, "eval_episodes": 10, "plan_nodes": nodes}
        run = train(task, "gcivl-slope", run=Path(folder) / "run", data=folder, **schedule)
        timings = (run / "timing.jsonl").read_text().splitlines()
        speed = max(json.loads(line)["steps_per_second"] for line in timings)
        rows = metrics.read(run / "evaluations.jsonl")
        times = {
            f"until_{share}": min((row["step"] / speed for row in rows if row["overall"] >= share), default=float("inf"))
            for share in (0.6, 0.95)
        }
        return {"seconds": steps / speed, **times, **_planning(run), **_exported(run), **_serving(run)}


def _planning(run: Path) -> Measurement:
    """Seconds to build the graph of a run, and of one robot's actions: between plans, and when it plans again."""
    from mvl.deploy.policy import load_policy

    load_policy(run, plan="graph")  # compiles
    (run / "graph.safetensors").unlink()
    building = _timed(lambda: load_policy(run, plan="graph"))
    return {"build": building, **_acting(load_policy(run, plan="graph"))}


def _acting(policy: Any) -> Measurement:
    """Seconds of one robot's actions, in the middle of an episode and at its beginning, where a planner plans."""
    import numpy as np

    state, goal = np.zeros(2), np.full(2, 20.0)
    policy.act(state, goal)

    def begin() -> None:
        policy.reset()
        policy.act(state, goal)

    acting = sorted(_timed(lambda: policy.act(state, goal)) for _ in range(200))[100]
    return {"act": acting, "replan": sorted(_timed(begin) for _ in range(21))[10]}


def _exported(run: Path) -> Measurement:
    """Seconds of one robot's actions without a plan, and of the same policy exported, without and with a plan."""
    from mvl import runtime
    from mvl.deploy.export.exporting import export_onnx
    from mvl.deploy.policy import load_policy

    with scratch_folder() as folder:
        file = export_onnx(run, Path(folder) / "policy.onnx", plan="graph")[0]
        plain, planned = (_acting(runtime.load(file, plan=plan)) for plan in ("none", "graph"))
    own = _acting(load_policy(run, plan="none"))["act"]
    found = {"act": plain["act"], "planned_act": planned["act"], "planned_replan": planned["replan"]}
    return {"plain_act": own, **{f"exported_{name}": seconds for name, seconds in found.items()}}


def _serving(run: Path) -> Measurement:
    """Seconds from a client's request to the server's answer, without and with a plan."""
    from mvl.bench.serving import latency

    found = {"served": latency(run, "none"), "served_planned": latency(run, "graph")}
    return {f"{kind}_{name}": seconds for kind, times in found.items() for name, seconds in times.items()}


def training_memory(data: str) -> Measurement:
    """Largest memory of a training run, in bytes."""
    from mvl.runs.training import train

    with scratch_folder() as folder:
        train(Path(data), "gcivl-mvl", run=Path(folder) / "run", steps=1000, eval_every=1000, log_every=1000, save_every=1000)
    return {"bytes": largest_memory()}


def image_step(**settings: Any) -> Measurement:
    """A step on images (`mvl.bench.images`)."""
    from mvl.bench.images import image_step as measured

    return measured(**settings)


MEASURES: dict[str, Callable[..., Measurement]] = {
    "rate": rate,
    "step": step,
    "image_step": image_step,
    "evaluation": evaluation,
    "command": command,
    "training_memory": training_memory,
    "arriving": arriving,
}


def measure(kind: str, *arguments: Any, cores: set[int] | None = None, **settings: Any) -> Measurement:
    """One measurement, in a process that may use these cores (by default all)."""
    request = json.dumps([kind, arguments, settings, sorted(cores or ())])
    done = subprocess.run(python_module(__name__, request), stdout=subprocess.PIPE, text=True, check=True)
    found: Measurement = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    kind, arguments, settings, cores = json.loads(sys.argv[1])
    if cores:
        os.sched_setaffinity(0, cores)  # before any library counts the cores
    print(json.dumps(MEASURES[kind](*arguments, **settings)))
