"""A job trains some seeds of an experiment in one run folder of the store."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from mvl.experiment import Experiment
from mvl.recipes.families import canonical
from mvl.runs.folder import Description
from mvl.settings import with_explicit_goals
from mvl.studies.process import Order

WITHOUT_EFFECT = {"log_every", "save_every", "steps_per_dispatch"}
"""Settings that no result depends on."""
LONGEST = 120
"""Letters of a folder's name before it is cut."""


@dataclass(frozen=True)
class Job:
    """An experiment, with the seeds to be trained together, and its run folder; a run that exists is continued."""

    experiment: Experiment
    run: Path

    def __str__(self) -> str:
        return f"{self.experiment.task} {folder_name(self.experiment)} seeds {spelled(self.experiment.seeds)}"

    @property
    def log(self) -> Path:
        return self.run.with_name(f"{self.run.name}.log")

    @property
    def clock(self) -> Path:
        """When processes began and ended working on it."""
        return self.run.with_name(f"{self.run.name}.clock.jsonl")

    def order(self) -> Order:
        return Order(str(self.run), tuple(self.command()), str(self.log), str(self.clock), tuple(self.experiment.own_code()))

    def command(self) -> list[str]:
        """The arguments of `mvl` that train it from the start."""
        return ["train", *self.experiment.to_flags(), "--run", str(self.run), "--workers", "1"]


def folder_name(experiment: Experiment) -> str:
    """The recipe and the settings that differ from the preset's, as the name of a folder."""
    changes = [(name, value.replace(" ", ",")) for name, value in experiment.changes().items() if name not in WITHOUT_EFFECT]
    text = "+".join([canonical(experiment.recipe_name), *(f"{name}={value}" for name, value in changes)])
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}~{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def folder_of(experiment: Experiment, store: Path) -> Path:
    """The folder of an experiment's runs in a store."""
    return store / str(experiment.preset) / experiment.task.label / folder_name(experiment)


def is_of(experiment: Experiment, description: Description) -> bool:
    """Whether a run is one of this experiment, with any seeds: the same recipe, trained as long and evaluated alike."""
    evaluated = lambda s: (s.steps, s.eval_every, s.eval_episodes, s.eval_temperature)
    other = description.experiment
    same = (other.task, evaluated(other.schedule)) == (experiment.task, evaluated(experiment.schedule))
    return same and with_explicit_goals(other.recipe) == with_explicit_goals(experiment.recipe)


def spelled(seeds: tuple[int, ...]) -> str:
    """`0` or `0-3`; seeds trained together follow each other."""
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}-{seeds[-1]}"
