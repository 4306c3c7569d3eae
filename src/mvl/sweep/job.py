"""A variant is one way to train on one task; a job trains some seeds of it in one run folder of the store."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mvl.data.names import TaskName
from mvl.errors import UsageError
from mvl.recipes.families import canonical
from mvl.recipes.presets import Schedule
from mvl.recipes.recipe import Recipe
from mvl.recipes.settings import choose, defaults, flags, plain
from mvl.runs.folder import Description
from mvl.sweep.child import Order

UNTOLD = {"log_every", "save_every", "steps_per_dispatch"}
"""Settings that no result depends on."""
LONGEST = 120
"""Letters of a folder's name before it is cut."""


@dataclass(frozen=True)
class Variant:
    """A task, a recipe, a size, and the settings that differ from it."""

    task: str
    recipe: str
    preset: str
    changes: tuple[tuple[str, str], ...]
    made: Recipe
    schedule: Schedule

    @classmethod
    def of(cls, task: str, recipe: str, preset: str, wanted: Mapping[str, str]) -> "Variant":
        """What is wanted of settings that this recipe has not does not concern it."""
        name = TaskName.parse(task)
        chosen = choose(recipe, preset, name, wanted)
        return cls(str(name), canonical(recipe), preset, chosen.changes, plain(chosen.recipe), chosen.schedule)

    @property
    def name(self) -> str:
        """The recipe and its changes, readable as a folder's name."""
        told = [(name, value.replace(" ", ",")) for name, value in self.changes if name not in UNTOLD]
        text = "+".join([self.recipe, *(f"{name}={value}" for name, value in told)])
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}~{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def folder(self, store: Path) -> Path:
        return store / self.preset / self.task / self.name

    def made_by(self, description: Description) -> bool:
        """Whether a run is one of this variant: the same recipe, trained as long and judged alike."""
        judged = lambda s: (s.steps, s.eval_every, s.eval_episodes, s.eval_temperature)
        same_task = (description.task, judged(description.schedule)) == (self.task, judged(self.schedule))
        return same_task and plain(description.recipe) == self.made


@dataclass(frozen=True)
class Job:
    """Seeds of a variant to be trained together, in this folder; one that is there already is continued."""

    variant: Variant
    seeds: tuple[int, ...]
    run: Path
    data: Path | None = None

    def __str__(self) -> str:
        return f"{self.variant.task} {self.variant.name} seeds {spelled(self.seeds)}"

    @property
    def log(self) -> Path:
        return self.run.with_name(f"{self.run.name}.log")

    @property
    def clock(self) -> Path:
        """When processes began and ended working on it."""
        return self.run.with_name(f"{self.run.name}.clock.jsonl")

    def order(self) -> Order:
        return Order(str(self.run), tuple(self.command()), str(self.log), str(self.clock))

    def command(self) -> list[str]:
        """The arguments of `mvl` that train it from the start."""
        variant = self.variant
        base = defaults(variant.recipe, variant.preset, TaskName.parse(variant.task))()
        words = ["train", variant.task, "--recipe", variant.recipe, "--preset", variant.preset]
        words += [*flags(base, dict(variant.changes)), "--run", str(self.run), "--workers", "1"]
        words += ["--seeds", str(len(self.seeds)), "--first-seed", str(self.seeds[0])]
        return [*words, *(["--data", str(self.data)] if self.data else [])]


def spelled(seeds: tuple[int, ...]) -> str:
    """`0` or `0-3`; seeds trained together follow each other."""
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}-{seeds[-1]}"


def parse_changes(words: list[str]) -> dict[str, str]:
    """`--steps 200 --value.widths 8 8`, as `mvl train` takes them, by name."""
    changes: dict[str, list[str]] = {}
    current: list[str] | None = None
    for word in words:
        if word.startswith("--"):
            name, given, value = word[2:].partition("=")
            current = changes[name] = [value] if given else []  # said twice, the last one counts
        elif current is None:
            raise UsageError(f"after -- come settings of mvl train, such as --steps 20000, not '{word}'.")
        else:
            current.append(word)
    return {_positive(name): _truth(name, values) for name, values in changes.items()}


def _truth(name: str, values: list[str]) -> str:
    """A flag alone says yes, or with `no-` no."""
    return " ".join(values) or str(_positive(name) == name)


def _positive(name: str) -> str:
    head, dot, last = name.rpartition(".")
    return f"{head}{dot}{last.removeprefix('no-')}"
