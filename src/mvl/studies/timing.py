"""Estimates of how long jobs take: from finished runs of the same experiment, else from steps timed on this machine.

Measured times are kept in the store's timing.json.
"""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mvl.data.unpacking import headers
from mvl.errors import DataError
from mvl.experiment import Experiment
from mvl.files import atomic
from mvl.processes import python_module
from mvl.recipes.families import canonical
from mvl.studies.job import Job
from mvl.studies.process import one_core_environment
from mvl.studies.store import held, progress_of, spent

UNKNOWN_SIZES = [32, 8]
"""Dimensions of observations and actions assumed while there is no data; the time of a step hardly depends on them."""

WITHOUT_EFFECT_ON_TIME = {"alpha", "beta", "cost", "expectile", "speed", "viscosity", "weight"}
"""Settings that do not change the time of a step: experiments that differ only in these are timed once."""


class Probe:
    """A child process that measures times (see timing_process.py), so that this process never occupies a device."""

    def __enter__(self) -> "Probe":
        core = [str(min(os.sched_getaffinity(0)))] if hasattr(os, "sched_getaffinity") else []
        self.process = subprocess.Popen(
            python_module("mvl.studies.timing_process", *core, options=("-W", "ignore")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=one_core_environment(),
            text=True,
        )
        self.machine: dict[str, Any] = self._answer()
        return self

    def ask(self, **question: Any) -> dict[str, Any]:
        """The answer to a question; empty if it cannot be measured on this machine."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # the process died at an earlier question
            return {}
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {}
        return answer

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def estimates(
    jobs: Sequence[Job],
    store: Path,
    probe: Probe,
    report: Callable[[int, int], None] = lambda done, total: None,
    remember: bool = True,
) -> dict[Job, float]:
    """Seconds that each job still takes, assuming evaluation episodes of full length; jobs that cannot be measured are left out.

    Measured times are written to the store unless `remember` is false.
    """
    timings = _read_timings(store)
    estimated = {}
    for index, job in enumerate(jobs):
        report(index, len(jobs))
        per_seed = _from_finished_runs(job, store) or _from_measurements(job, timings, probe)
        if per_seed is not None:
            steps = job.experiment.schedule.steps * len(job.experiment.seeds)
            estimated[job] = per_seed * len(job.experiment.seeds) * (1 - progress_of(job) / steps)
    report(len(jobs), len(jobs))
    if remember:
        _write_timings(timings, store)
    return estimated


def step_times(
    experiments: Sequence[Experiment], data: Path | None, store: Path, report: Callable[[int, int], None]
) -> dict[Experiment, float]:
    """Seconds of a training step of one seed; experiments that cannot be measured on this machine are left out."""
    timings = _read_timings(store)
    estimated = {}
    with Probe() as probe:
        for index, experiment in enumerate(experiments):
            report(index, len(experiments))
            seconds = _step(experiment, 1, data, timings, probe)
            if seconds is not None:
                estimated[experiment] = seconds
    report(len(experiments), len(experiments))
    _write_timings(timings, store)
    return estimated


def _from_finished_runs(job: Job, store: Path) -> float | None:
    """Mean seconds per seed in finished runs of the same experiment; None if there are none."""
    seeds = held(job.experiment, store, job.experiment.data.folder).finished.values()
    taken = sum(spent(run) for run in {seed.run for seed in seeds})
    return taken / len(seeds) if taken else None


def _from_measurements(job: Job, timings: dict[str, Any], probe: Probe) -> float | None:
    """Seconds of all steps and evaluations of one seed; None if they cannot be measured."""
    experiment, schedule = job.experiment, job.experiment.schedule
    on_cpu = probe.machine.get("backend", "cpu") == "cpu"
    seeds = 1 if on_cpu else len(job.experiment.seeds)  # on one core, seeds together take as long as one after the other
    step = _step(experiment, seeds, job.experiment.data.folder, timings, probe)
    name = experiment.task.name
    if name and "play" not in timings.get(name, {}):
        timings[name] = probe.ask(task=name)
    if step is None or not timings.get(name):
        return None
    play = timings[name]
    evaluation: float = play["tasks"] * schedule.eval_episodes * play["length"] * play["play"]
    return schedule.steps * step / seeds + -(-schedule.steps // schedule.eval_every) * evaluation


def _step(experiment: Experiment, seeds: int, data: Path | None, timings: dict[str, Any], probe: Probe) -> float | None:
    """Seconds of a training step of so many seeds together, measured once for all experiments of equal cost."""
    changes = {name: text for name, text in experiment.changes().items() if "." in name or name == "batch_size"}
    relevant = (f"{name}={text}" for name, text in changes.items() if name.split(".")[-1] not in WITHOUT_EFFECT_ON_TIME)
    kind = " ".join(
        [
            probe.machine.get("backend", "cpu"),
            f"{seeds} seeds",
            str(experiment.preset),
            canonical(experiment.recipe_name),
            *relevant,
        ]
    )
    if "step" not in timings.get(kind, {}):
        timings[kind] = probe.ask(experiment=experiment.to_json(), sizes=_sizes(experiment, data), seeds=seeds)
    seconds: float | None = timings[kind].get("step")
    return seconds


def _sizes(experiment: Experiment, data: Path | None) -> list[int]:
    """Dimensions of observations and actions."""
    try:
        arrays = headers(experiment.task.find_data(data))
    except DataError:
        return UNKNOWN_SIZES
    return [arrays[name].shape[1] for name in ("observations", "actions")]


def _read_timings(store: Path) -> dict[str, Any]:
    try:
        timings: dict[str, Any] = json.loads((store / "timing.json").read_text())
        return timings
    except (FileNotFoundError, ValueError):
        return {}


def _write_timings(timings: dict[str, Any], store: Path) -> None:
    if timings != _read_timings(store):
        with atomic(store / "timing.json") as partial:
            partial.write_text(json.dumps(timings, indent=1, sort_keys=True) + "\n")
