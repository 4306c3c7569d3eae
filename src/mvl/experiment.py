"""An experiment: task, recipe, schedule, seeds and data. The only description of a training run, in Python and as flags."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import asdict, dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvl import registry
from mvl.checks import INSIDE_UNIT
from mvl.data.sources.images import is_images
from mvl.errors import UsageError, unknown
from mvl.recipes.families import name_of_parts
from mvl.recipes.presets import DEFAULT, PRESETS, Schedule, named_recipe
from mvl.recipes.recipe import Recipe
from mvl.settings import Configured, as_flags, as_text
from mvl.tasks import Task, find_task
from mvl.types import CountsSteps

if TYPE_CHECKING:
    from mvl.data.dataset import Dataset

CUSTOM = "custom"
"""Name of a recipe that was given as an object."""


@dataclass(frozen=True)
class DataOptions:
    """Where data is searched for and how it is read."""

    folder: Path | None = None
    """Folder of the datasets; by default OGBench's own and `$MVL_DATA`."""
    held_out: float | None = None
    """Share of the episodes held out for validation; None: use the `-val.npz` file, or hold out a tenth of a Dataset."""
    out_of_core: bool | None = None
    """Whether rows are read from disk while training; None: only if the data does not fit in memory."""

    def __post_init__(self) -> None:
        INSIDE_UNIT.check(held_out=self.held_out)


@dataclass(frozen=True)
class Experiment:
    """A training run before its data is read. Equal experiments on equal data give equal results.

    It becomes flags of `mvl train` (`to_flags`), JSON (`to_json`) and a run (`mvl.train(experiment)`), and comes back from each.

    Examples:
        >>> experiment = mvl.Experiment.from_preset("cube-single-play-v0", "gcivl-mvl", "cpu", seeds=range(4))
        >>> run = mvl.train(experiment.with_settings({"steps": 20_000}))
    """

    task: Task
    recipe: Recipe
    schedule: Schedule
    recipe_name: str = CUSTOM
    preset: str | None = None
    """The preset it was made from, if known."""
    seeds: tuple[int, ...] = (0,)
    data: DataOptions = field(default_factory=DataOptions)

    def __post_init__(self) -> None:
        if not self.seeds:
            raise UsageError("seeds must be at least 1.")
        for seed in (min(self.seeds), max(self.seeds)):
            if not 0 <= seed < 2**32:
                raise UsageError(f"a seed must lie between 0 and 2**32 - 1; {seed} does not.")
        if self.schedule.plan != "none" and not isinstance(self.recipe.value, CountsSteps):
            name = registry.name_of("value", self.recipe.value)
            raise UsageError(f"a plan needs a value that counts steps, which {name} does not; choose --plan none.")
        if self.schedule.plan != "none":
            self.recipe.check_plan()
        if self.recipe.learning.normalize is None:
            decided = replace(self.recipe.learning, normalize=self.task.is_own)
            object.__setattr__(self, "recipe", replace(self.recipe, learning=decided))

    @classmethod
    def from_preset(
        cls,
        task: str | Path | Task | Dataset,
        recipe: str | Recipe = "gcivl-mvl",
        preset: str = DEFAULT,
        *,
        parts: Mapping[str, str] | None = None,
        seeds: Sequence[int] = (0,),
        data: DataOptions | None = None,
    ) -> Experiment:
        """A recipe with the sizes of a preset and the published settings of the task; `parts` replaces parts, {axis: name}."""
        chosen = as_task(task)
        named, schedule = named_recipe(recipe if isinstance(recipe, str) else "gcivl", preset, chosen, dict(parts or {}))
        name, made = (recipe, named) if isinstance(recipe, str) else (CUSTOM, recipe)
        return cls(chosen, made, _without_impossible_plan(schedule, made), name, preset, tuple(seeds), data or DataOptions())

    @property
    def configured(self) -> Configured:
        return Configured(self.recipe, self.schedule)

    def has_setting(self, name: str) -> bool:
        return self.configured.full_name(name) is not None

    def with_settings(self, changes: Mapping[str, Any]) -> Experiment:
        """A copy with settings replaced by name. Text is parsed as on the command line; the name of an axis replaces its part."""
        names = {name: self.configured.full_name(name) for name in changes}
        for name, full in names.items():
            if full is None:
                raise unknown("setting", name, self.configured.settings())
        known = self.configured.settings()
        named = {str(names[name]): value for name, value in changes.items()}
        texts = {name: value for name, value in named.items() if isinstance(value, str) and not isinstance(known.get(name), str)}
        made = self.configured.replaced({name: value for name, value in named.items() if name not in texts})
        recipe, schedule = made.read(texts) if texts else made
        schedule = schedule if "plan" in named else _without_impossible_plan(schedule, recipe)
        return replace(self, recipe=recipe, schedule=schedule)

    def with_flags(self, words: Sequence[str]) -> tuple[Experiment, list[str]]:
        """A copy with the settings that flags of `mvl train` change, and the words that belong to no setting of this recipe."""
        if not words:
            return self, []
        try:
            with redirect_stderr(StringIO()):  # tyro prints a box; our errors are one sentence
                (recipe, schedule), rest = self.configured.parse_known(words)
        except SystemExit:
            raise UsageError(f"'{' '.join(words)}' cannot be read as settings; see: mvl train TASK --help") from None
        return replace(self, recipe=recipe, schedule=schedule), rest

    def changes(self) -> dict[str, str]:
        """Settings that differ from the preset's, as text."""
        preset = self._preset()[0].configured.settings()
        return {
            name: as_text(value) for name, value in sorted(self.configured.settings().items()) if value != preset.get(name, value)
        }

    def to_flags(self) -> list[str]:
        """The arguments of `mvl train` that describe this experiment, without the run folder."""
        base, swapped = self._preset()
        words = [
            str(self.task.data) if self.task.is_own else self.task.name,
            "--recipe",
            base.recipe_name,
            "--preset",
            str(base.preset),
        ]
        words += [word for axis, part in swapped.items() for word in (f"--{axis}", part)]
        words += self.own_code()
        words += ["--goals", str(self.task.goals)] if self.task.is_own and self.task.goals > 1 else []
        words += as_flags(base.configured.settings(), self.changes())
        words += ["--seeds", str(len(self.seeds)), *(["--first-seed", str(self.seeds[0])] if self.seeds[0] else [])]
        words += ["--data", str(self.data.folder)] if self.data.folder else []
        return [*words, *(["--held-out", str(self.data.held_out)] if self.data.held_out is not None else [])]

    def command(self) -> str:
        """The shell command that repeats this training; a data file is named without its folder."""
        task, *flags = self.to_flags()
        return shlex.join(["mvl", "train", Path(task).name, *flags])

    def own_code(self) -> list[str]:
        """Flags that name the parts and the environment of the user's own code, for another process to import."""
        modules = dict.fromkeys(name.partition(":")[0] for name in self.recipe.names().values() if ":" in name)
        words = [word for module in modules for word in ("--parts", registry.importable(module))]
        if self.task.env is None or not self.task.is_own:
            return words
        return [*words, "--env", registry.importable(registry.import_path(self.task.env))]

    def _preset(self) -> tuple[Experiment, dict[str, str]]:
        """The preset with the fewest different settings, and the names of the parts if they are not those of a named recipe."""
        names = self.recipe.names()
        recipe = name_of_parts(names)
        usual = "impala" if self.task.images else "identity"
        swapped = {} if recipe else {axis: name for axis, name in names.items() if axis != "encoder"}
        swapped |= {"encoder": names["encoder"]} if names["encoder"] != usual else {}
        made = [
            Experiment.from_preset(self.task, recipe or "gcivl", preset, parts=swapped)
            for preset in ([self.preset] if self.preset else PRESETS)
        ]
        mine = self.configured.settings()
        differences = lambda base: sum(mine[name] != value for name, value in base.configured.settings().items() if name in mine)
        return min(made, key=differences), swapped

    def to_json(self) -> dict[str, Any]:
        return {
            "task": str(self.task),
            **({"own_task": _own_task(self.task)} if self.task.is_own else {}),
            "recipe_name": self.recipe_name,
            "preset": self.preset,
            "recipe": self.recipe.to_json(),
            "schedule": asdict(self.schedule),
            "seeds": list(self.seeds),
            "data": {**asdict(self.data), "folder": self.data.folder and str(self.data.folder)},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Experiment:
        """The experiment that `to_json` described."""
        try:
            options = data["data"]
            folder = options.get("folder")
            return cls(
                task=_task_from_json(data),
                recipe=Recipe.from_json(data["recipe"]),
                schedule=Schedule(**data["schedule"]),
                recipe_name=data["recipe_name"],
                preset=data.get("preset"),
                seeds=tuple(data["seeds"]),
                data=DataOptions(folder and Path(folder), options.get("held_out"), options.get("out_of_core")),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(f"not the description of an experiment ({error!r}); make one with to_json.") from None


def _without_impossible_plan(schedule: Schedule, recipe: Recipe) -> Schedule:
    """A preset's schedule without its planner if the recipe's value does not count steps."""
    return schedule if isinstance(recipe.value, CountsSteps) else replace(schedule, plan="none")


def as_task(given: str | Path | Task | Dataset) -> Task:
    """A task by its name, a data file or a dataset as a task without an environment, or the task itself."""
    if isinstance(given, Task):
        return given
    if isinstance(given, Path) or (isinstance(given, str) and given.endswith(".npz")):
        return Task(data=given, images=is_images(Path(given)))
    return find_task(given) if isinstance(given, str) else Task(data=given, images=given.image is not None)


def _task_from_json(data: Mapping[str, Any]) -> Task:
    """The task of an experiment; an environment of the user's own code stays an import path until it is used."""
    own = data.get("own_task")
    if own is None and data.get("simulated", True):
        return find_task(data["task"])
    own = own or {"data": data["task"]}  # version 0.1 had no other tasks of this kind
    path = Path(own["data"]) if own["data"] not in (None, "arrays") else None
    return Task(
        own.get("env"),
        path,
        own.get("goal"),
        own.get("success"),
        own.get("name", ""),
        goals=own.get("goals", 1),
        images=own.get("images", False),
    )


def _own_task(task: Task) -> dict[str, str | int | None]:
    """A user-defined task as JSON: its data file, its functions as import paths, its number of goals, and if it has images."""
    paths = {name: registry.import_path(getattr(task, name)) or None for name in ("env", "goal", "success")}
    data = str(task.data) if isinstance(task.data, str | Path) else None
    return {"name": task.name, "data": data, **paths, "goals": task.goals, "images": task.images}
