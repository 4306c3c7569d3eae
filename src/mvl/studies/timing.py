"""Estimates of how long jobs take: from finished runs of the same experiment, else from steps and episodes timed on this machine.

What was not timed yet is guessed from its settings and the nearest experiment that was (see costs.py).
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import jax

from mvl import __version__
from mvl.data.sources.images import LEVELS
from mvl.data.unpacking import headers
from mvl.errors import DataError
from mvl.experiment import Experiment
from mvl.studies.costs import SHARE_OF_RATE, episode_seconds, family, work
from mvl.studies.display import warn
from mvl.studies.job import Job
from mvl.studies.known_times import KnownTimes
from mvl.studies.probe import Machine, Probe
from mvl.studies.store import process_seconds, progress_of, runs_of
from mvl.tasks import Task

UNKNOWN_SIZES = (32, 8)
"""Dimensions of observations and actions assumed while there is no data."""
UNKNOWN_IMAGES = (32, 32, 6, 8)
"""Height, width and channels of images and dimensions of actions assumed while there is no data."""
WITHOUT_EFFECT_ON_TIME = {
    *{"alpha", "beta", "cost", "cost_form", "distance_power", "expectile", "high_alpha", "low_alpha", "norm", "radius"},
    *{"scale", "slack", "speed", "std", "subgoal_steps", "viscosity", "weight"},
}
"""Settings that do not change the time of a step: experiments that differ only in these are timed once."""


class Estimate(NamedTuple):
    """A time, and whether it is a guess rather than measured."""

    seconds: float
    guessed: bool


class Question(NamedTuple):
    """Something to measure: a training step, or an episode of a task."""

    key: str
    words: dict[str, Any]
    """What the measuring process is asked."""
    notes: dict[str, Any]
    """What is kept beside the answer."""


class Estimator:
    """Estimates times on a machine: guesses at first, better ones with everything that is measured."""

    def __init__(self, machine: Machine, data: Path | None) -> None:
        """`data` is the folder of the datasets."""
        self.machine, self.data, self.known = machine, data, KnownTimes(warn)
        self.sizes: dict[Task, tuple[int, ...]] = {}
        self.steps: dict[Experiment, Question] = {}

    def seed(self, experiment: Experiment) -> Estimate | None:
        """All steps and evaluations of one seed, with episodes of full length; None if its steps are not known."""
        schedule, task = experiment.schedule, experiment.task
        step, episode = self.step(experiment), self.episode(task)
        if step is None:
            return None
        episodes = -(-schedule.steps // schedule.eval_every) * task.goals * schedule.eval_episodes
        return Estimate(schedule.steps * step.seconds + episodes * episode.seconds, step.guessed or episode.guessed)

    def step(self, experiment: Experiment) -> Estimate | None:
        """A training step of one seed; None on an accelerator on which nothing was measured yet.

        The time of another experiment, or of the same one on data of other dimensions, counts in proportion to the work.
        """
        key, words, notes = self.step_question(experiment)
        mine, seeds, known = notes["work"], words["seeds"], self.known.entries
        alike = [entry for entry in known.values() if entry.get("device") == self.machine.device]
        nearest = min(alike, key=lambda entry: abs(math.log(entry["work"] / mine)), default=None)
        if source := known.get(key, nearest):
            return Estimate(source["step"] * mine / source["work"] / seeds, key not in known)
        if not self.machine.is_cpu or not self.machine.rate:
            return None
        return Estimate(mine / (SHARE_OF_RATE * self.machine.rate) / seeds, True)

    def episode(self, task: Task) -> Estimate:
        """An episode of full length in one environment."""
        known = {key: entry for key, entry in self.known.entries.items() if "play" in entry}
        alike = (entry for key, entry in known.items() if family(key) == family(task.name))
        source = known.get(task.name) or next(alike, None)
        seconds = source["play"] * source["length"] if source else episode_seconds(task)
        return Estimate(seconds, task.name not in known)

    def questions(self, experiments: Iterable[Experiment]) -> list[Question]:
        """What is not known yet about the times of these experiments, each once."""
        found: dict[str, Question] = {}
        for experiment in experiments:
            name, step = experiment.task.name, self.step_question(experiment)
            found.setdefault(step.key, step)
            found.setdefault(name, Question(name, {"task": name}, {}))
        return [question for key, question in found.items() if key and key not in self.known.entries]

    def step_question(self, experiment: Experiment) -> Question:
        """How to measure a step; on an accelerator, all seeds of the experiment take it together."""
        if experiment not in self.steps:
            seeds = 1 if self.machine.is_cpu else len(experiment.seeds)  # on one core they take as long as one after the other
            sizes = self._sizes(experiment.task)
            words = {"experiment": experiment.to_json(), "sizes": sizes, "seeds": seeds}
            image = (sizes[0], sizes[1], sizes[2]) if len(sizes) > 2 else None
            notes = {"work": seeds * work(experiment, sizes[0], image), "device": self.machine.device}
            self.steps[experiment] = Question(_key(experiment, self.machine, seeds), words, notes)
        return self.steps[experiment]

    def measure(self, question: Question, probe: Probe) -> None:
        """Measure and keep one time; what cannot be measured on this machine stays a guess."""
        if answer := probe.ask(**question.words):
            self.known.add(question.key, {**answer, **question.notes})

    def _sizes(self, task: Task) -> tuple[int, ...]:
        """Dimensions of observations, those of an image being three, and of actions, which are levels if there is one."""
        if task not in self.sizes:
            try:
                arrays = headers(task.find_data(self.data))
                actions = arrays["actions"].shape[1:] or (LEVELS,)
                self.sizes[task] = (*arrays["observations"].shape[1:], *actions)
            except DataError:
                self.sizes[task] = UNKNOWN_IMAGES if task.images else UNKNOWN_SIZES
        return self.sizes[task]


def _key(experiment: Experiment, machine: Machine, seeds: int) -> str:
    """Everything that the time of a step depends on but the dimensions of the data, as a text."""
    recipe, native = experiment.recipe, os.environ.get("MVL_NATIVE", "1")
    parts = [f"{name}({_settings(getattr(recipe, axis))})" for axis, name in recipe.names().items()]
    versions = f"mvl {__version__}", f"jax {jax.__version__}", f"native {native}"
    learning = f"batch {recipe.learning.batch_size}, history {recipe.learning.history}, chunk {recipe.learning.chunk}"
    return ", ".join([machine.device, *versions, f"{seeds} seeds", learning, *parts])


def _settings(part: Any) -> str:
    """The settings of a part that change the time of a step."""
    return ", ".join(f"{name}={value}" for name, value in asdict(part).items() if name not in WITHOUT_EFFECT_ON_TIME)


def remaining_times(jobs: Sequence[Job], finished: Mapping[Path, Estimate], estimator: Estimator) -> dict[Job, Estimate]:
    """The time that each job still takes; jobs about which nothing is known are left out. `finished`: see finished_times."""
    by_group: dict[tuple[Path, int], Estimate | None] = {}
    found = {}
    for job in jobs:
        experiment, group = job.experiment, (job.run.parent, len(job.experiment.seeds))
        if group not in by_group:
            by_group[group] = finished.get(job.run.parent) or estimator.seed(experiment)
        if one := by_group[group]:
            left = len(experiment.seeds) - progress_of(job) / experiment.schedule.steps
            found[job] = Estimate(one.seconds * left, one.guessed)
    return found


def finished_times(jobs: Iterable[Job], store: Path) -> dict[Path, Estimate]:
    """Mean time of a seed in finished runs of the same experiment, by the folder of the experiment's runs."""
    found = {}
    for folder, job in {job.run.parent: job for job in jobs}.items():
        seeds = runs_of(job.experiment, store, job.experiment.data.folder).finished.values()
        if taken := sum(process_seconds(run) for run in {seed.run for seed in seeds}):
            found[folder] = Estimate(taken / len(seeds), False)
    return found


def step_times(
    experiments: Sequence[Experiment], data: Path | None, report: Callable[[int, int], None]
) -> dict[Experiment, float]:
    """Seconds of a training step of one seed; experiments that cannot be measured on this machine are left out."""
    with Probe() as probe:
        estimator = Estimator(probe.machine, data)
        questions = [question for question in estimator.questions(experiments) if "experiment" in question.words]
        for index, question in enumerate(questions):
            report(index, len(questions))
            estimator.measure(question, probe)
        report(len(questions), len(questions))
    times = {experiment: estimator.step(experiment) for experiment in experiments}
    return {experiment: time.seconds for experiment, time in times.items() if time and not time.guessed}
