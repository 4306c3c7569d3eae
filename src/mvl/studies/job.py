"""A job trains some seeds of an experiment in one run folder of the store."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mvl.experiment import Experiment
from mvl.recipes.families import canonical
from mvl.recipes.presets import Schedule
from mvl.runs.folder import Description
from mvl.settings import with_explicit_goals
from mvl.studies.process import JobSpec

WITHOUT_EFFECT = {"log_every", "save_every", "steps_per_dispatch"}
"""Settings that do not change results, and so are not part of a folder's name."""
MAX_NAME_LENGTH = 120
"""Longer folder names are cut here and end in a hash."""


@dataclass(frozen=True)
class Job:
    """An experiment, whose seeds are trained together, and its run folder; a run that exists is continued."""

    experiment: Experiment
    run: Path

    def __str__(self) -> str:
        return f"{self.experiment.task} {folder_name(self.experiment)} seeds {seed_range(self.experiment.seeds)}"

    @property
    def log(self) -> Path:
        return self.run.with_name(f"{self.run.name}.log")

    @property
    def clock(self) -> Path:
        """Log of the times at which processes started and stopped training this run."""
        return self.run.with_name(f"{self.run.name}.clock.jsonl")

    def spec(self) -> JobSpec:
        return JobSpec(str(self.run), tuple(self.command()), str(self.log), str(self.clock), tuple(self.experiment.own_code()))

    def command(self) -> list[str]:
        """The arguments of `mvl` that train a new run."""
        return ["train", *self.experiment.to_flags(), "--run", str(self.run), "--workers", "1"]


@lru_cache(maxsize=10_000)
def folder_name(experiment: Experiment) -> str:
    """Name of an experiment's folder: the recipe and the settings that differ from the preset's."""
    changes = [(name, value.replace(" ", ",")) for name, value in experiment.changes().items() if name not in WITHOUT_EFFECT]
    text = "+".join([canonical(experiment.recipe_name), *(f"{name}={value}" for name, value in changes)])
    return text if len(text) <= MAX_NAME_LENGTH else f"{text[:MAX_NAME_LENGTH]}~{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def folder_of(experiment: Experiment, store: Path) -> Path:
    """The folder of an experiment's runs in a store."""
    return store / str(experiment.preset) / experiment.task.label / folder_name(experiment)


def is_run_of(experiment: Experiment, description: Description) -> bool:
    """Whether a run belongs to an experiment, whatever its seeds: same task, recipe, number of steps and evaluations.

    One that started from another run belongs to none.
    """
    evaluated: Callable[[Schedule], tuple[object, ...]] = lambda s: (
        *(s.steps, s.eval_every, s.eval_episodes, s.eval_temperature),
        *((s.plan, s.plan_nodes, s.plan_steps) if s.plan != "none" else ()),
    )
    other = description.experiment
    same = (other.task, evaluated(other.schedule)) == (experiment.task, evaluated(experiment.schedule))
    return same and description.parent is None and with_explicit_goals(other.recipe) == with_explicit_goals(experiment.recipe)


def seed_range(seeds: tuple[int, ...]) -> str:
    """Seeds as text, `0` or `0-3`; seeds that are trained together are consecutive."""
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}-{seeds[-1]}"
