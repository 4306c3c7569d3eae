"""Every setting of a recipe by name (`steps`, `regularizer.weight`): what it is, and what texts change it to."""

from collections.abc import Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass, make_dataclass, replace
from io import StringIO
from typing import Annotated, Any

from mvl import registry
from mvl.data.names import TaskName
from mvl.errors import UsageError
from mvl.recipes.presets import Schedule, named_recipe
from mvl.recipes.recipe import Learning, Recipe


@dataclass(frozen=True)
class Chosen:
    """A recipe and a schedule, and the settings that make them differ from the preset's, by name, as text."""

    recipe: Recipe
    schedule: Schedule
    changes: tuple[tuple[str, str], ...]


def defaults(recipe: str, preset: str, task: TaskName | None, parts: dict[str, str] | None = None) -> type:
    """A dataclass of everything that can be set for a recipe, with its values at this preset and task."""
    made, schedule = named_recipe(recipe, preset, task, parts)
    learning = replace(made.learning, value_goals=made.value_goals)  # shown, and flags, even if the value chose them
    import tyro

    flat = tyro.conf.arg(name="")  # --steps, not --schedule.steps
    groups: list[Any] = [(axis, type(getattr(made, axis)), getattr(made, axis)) for axis in registry.AXES]
    groups += [
        ("schedule", Annotated[type(schedule), flat], schedule),
        ("learning", Annotated[type(learning), flat, tyro.conf.AvoidSubcommands], learning),
    ]
    return make_dataclass("Settings", groups, frozen=True)


def choose(recipe: str, preset: str, task: TaskName | None, wanted: Mapping[str, str]) -> Chosen:
    """The recipe with settings changed: those of `wanted` that it has. A part's own name may stand for its axis.

    A change to what the preset has anyway is none.
    """
    kind = defaults(recipe, preset, task)
    base = kind()
    applied = {name: value for key, value in wanted.items() if (name := _name(base, key)) is not None}
    made = _parsed(kind, applied) if applied else base
    changes = tuple((name, text(_at(made, name))) for name in sorted(applied) if _at(made, name) != _at(base, name))
    return Chosen(_recipe(made), made.schedule, changes)


def has(recipe: str, preset: str, task: TaskName | None, key: str) -> bool:
    """Whether a recipe has such a setting."""
    return _name(defaults(recipe, preset, task)(), key) is not None


def flags(base: Any, changes: Mapping[str, str]) -> list[str]:
    """The changes as arguments of `mvl train`."""
    words: list[str] = []
    for name, value in changes.items():
        flag, dashed = name.rpartition(".")[0], name.replace("_", "-")
        if isinstance(_at(base, name), bool):
            last = dashed.rpartition(".")[2]
            words.append(f"--{dashed}" if value.lower() in ("true", "1", "yes") else f"--{flag}{'.' if flag else ''}no-{last}")
        else:
            words += [f"--{dashed}", *value.split()]
    return words


def plain(recipe: Recipe) -> Recipe:
    """With the goals of the value written out, so that recipes compare however they were made."""
    return replace(recipe, learning=replace(recipe.learning, value_goals=recipe.value_goals))


def _parsed(kind: type, changes: dict[str, str]) -> Any:
    import tyro

    try:
        with redirect_stderr(StringIO()):  # it draws a box, and our errors are one sentence
            return tyro.cli(kind, args=flags(kind(), changes))
    except SystemExit:
        shown = ", ".join(f"{name}={value}" for name, value in changes.items())
        raise UsageError(f"a value in {shown} is not of the setting's kind; see: mvl train TASK --help") from None


def _name(base: Any, key: str) -> str | None:
    """The setting's full name in this recipe; none where it has no such setting."""
    head, _, rest = key.replace("-", "_").partition(".")
    for axis in registry.AXES:
        if rest and head == registry.name_of(axis, getattr(base, axis)):
            head = axis
    name = f"{head}.{rest}" if rest else head
    try:
        _at(base, name)
    except AttributeError:
        return None
    return name


def _at(settings: Any, name: str) -> Any:
    head = name.split(".")[0]
    if head in registry.AXES:
        if "." not in name:
            raise AttributeError(f"{head} is a part, not a setting")
        found: Any = settings
    else:
        found = settings.schedule if head in Schedule.__dataclass_fields__ else settings.learning
    for step in name.split("."):
        found = getattr(found, step)
    return found


def _recipe(settings: Any) -> Recipe:
    learning: Learning = settings.learning
    return Recipe(**{axis: getattr(settings, axis) for axis in registry.AXES}, learning=learning)


def text(value: Any) -> str:
    """As `mvl train` takes it."""
    return " ".join(map(str, value)) if isinstance(value, tuple) and not hasattr(value, "_fields") else str(value)
