"""How long will it take? Measured on this machine, remembered in the store; finished runs of the same kind know better."""

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
from mvl.studies.process import surroundings
from mvl.studies.store import held, progress_of, spent

UNKNOWN_SIZES = [32, 8]
"""Numbers in an observation and an action where there is no data yet; a step's time hardly depends on them."""

FACTORS = {"alpha", "beta", "cost", "expectile", "speed", "viscosity", "weight"}
"""Settings that change what is computed but not how much: experiments that differ in these alone are timed once."""


class Probe:
    """Asks a process of its own, so that this one never takes a device."""

    def __enter__(self) -> "Probe":
        core = [str(min(os.sched_getaffinity(0)))] if hasattr(os, "sched_getaffinity") else []
        self.process = subprocess.Popen(
            python_module("mvl.studies.timing_process", *core, options=("-W", "ignore")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=surroundings(),
            text=True,
        )
        self.machine: dict[str, Any] = self._answer()
        return self

    def ask(self, **question: Any) -> dict[str, Any]:
        """Nothing, if it cannot be measured here."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # it died over an earlier question
            return {}
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else {}

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
    """Seconds each job still takes, evaluations lasting as long as they can; jobs that cannot be measured are left out.

    What was timed is written to the store unless `remember` is false.
    """
    known = _remembered(store)
    found = {}
    for index, job in enumerate(jobs):
        report(index, len(jobs))
        whole = _by_experience(job, store) or _by_measuring(job, known, probe)
        if whole is not None:
            steps = job.experiment.schedule.steps * len(job.experiment.seeds)
            found[job] = whole * len(job.experiment.seeds) * (1 - progress_of(job) / steps)
    report(len(jobs), len(jobs))
    if remember:
        _remember(known, store)
    return found


def step_times(
    experiments: Sequence[Experiment], data: Path | None, store: Path, report: Callable[[int, int], None]
) -> dict[Experiment, float]:
    """Seconds of a training step of one seed; what cannot be measured here is left out."""
    known = _remembered(store)
    found = {}
    with Probe() as probe:
        for index, experiment in enumerate(experiments):
            report(index, len(experiments))
            seconds = _step(experiment, 1, data, known, probe)
            if seconds is not None:
                found[experiment] = seconds
    report(len(experiments), len(experiments))
    _remember(known, store)
    return found


def _by_experience(job: Job, store: Path) -> float | None:
    """What a seed took in finished runs of the same experiment."""
    seeds = held(job.experiment, store, job.experiment.data.folder).finished.values()
    taken = sum(spent(run) for run in {seed.run for seed in seeds})
    return taken / len(seeds) if taken else None


def _by_measuring(job: Job, known: dict[str, Any], probe: Probe) -> float | None:
    """Steps and evaluations of one seed, each timed once for its kind."""
    experiment, schedule = job.experiment, job.experiment.schedule
    together = 1 if probe.machine.get("backend", "cpu") == "cpu" else len(job.experiment.seeds)  # a core has no room for more
    step = _step(experiment, together, job.experiment.data.folder, known, probe)
    name = experiment.task.name
    if name and "play" not in known.get(name, {}):
        known[name] = probe.ask(task=name)
    if step is None or not known.get(name):
        return None
    play = known[name]
    evaluation = play["tasks"] * schedule.eval_episodes * play["length"] * play["play"]
    return schedule.steps * step / together + -(-schedule.steps // schedule.eval_every) * evaluation


def _step(experiment: Experiment, together: int, data: Path | None, known: dict[str, Any], probe: Probe) -> float | None:
    """Seconds of a step of so many seeds, timed once for its kind."""
    changes = {name: text for name, text in experiment.changes().items() if "." in name or name == "batch_size"}
    told = (f"{name}={text}" for name, text in changes.items() if name.split(".")[-1] not in FACTORS)
    kind = " ".join(
        [
            probe.machine.get("backend", "cpu"),
            f"{together} seeds",
            str(experiment.preset),
            canonical(experiment.recipe_name),
            *told,
        ]
    )
    if "step" not in known.get(kind, {}):
        known[kind] = probe.ask(experiment=experiment.to_json(), sizes=_sizes(experiment, data), seeds=together)
    return known[kind].get("step")


def _sizes(experiment: Experiment, data: Path | None) -> list[int]:
    try:
        held_arrays = headers(experiment.task.find_data(data))
    except DataError:
        return UNKNOWN_SIZES
    return [held_arrays[name].shape[1] for name in ("observations", "actions")]


def _remembered(store: Path) -> dict[str, Any]:
    try:
        return json.loads((store / "timing.json").read_text())
    except (FileNotFoundError, ValueError):
        return {}


def _remember(known: dict[str, Any], store: Path) -> None:
    if known != _remembered(store):
        with atomic(store / "timing.json") as partial:
            partial.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
