"""Settings of a recipe and its schedule by name (`steps`, `batch_size`, `regularizer.weight`): listed, replaced, parsed."""

from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, fields, is_dataclass, make_dataclass, replace
from io import StringIO
from typing import Annotated, Any, NamedTuple

from mvl import registry
from mvl.errors import UsageError, unknown
from mvl.recipes.presets import Schedule
from mvl.recipes.recipe import Learning, Recipe


@dataclass(frozen=True)
class LearningFlags(Learning):
    """`Learning` as flags: what has a default that depends on the task is decided, so that it is a switch."""

    normalize: bool = False
    """Standardize observations and goals by their mean and standard deviation in the training data, as is done for own data
    unless switched off. Lengths of regularizers are then in these units."""

    def __post_init__(self) -> None:
        """Nothing is checked here, so that errors name `Learning`, which is made of these."""


class Configured(NamedTuple):
    """A recipe and its training schedule."""

    recipe: Recipe
    schedule: Schedule

    def settings(self) -> dict[str, Any]:
        """The value of every setting, by full name (`regularizer.weight`)."""
        parts = {axis: getattr(self.recipe, axis) for axis in registry.AXES}
        groups = [parts, _settings_of(self.schedule), _settings_of(with_explicit_goals(self.recipe).learning)]
        return {name: value for group in groups for name, value in _flat(group).items()}

    def full_name(self, name: str) -> str | None:
        """The full name of a setting or a part; `mollified.weight` means `regularizer.weight`. None: there is no such setting."""
        head, dot, rest = name.replace("-", "_").partition(".")
        for axis in registry.AXES:
            if rest and head == registry.name_of(axis, getattr(self.recipe, axis)):
                head = axis
        full = f"{head}{dot}{rest}"
        return full if full in self.settings() or full in (*registry.AXES, "learning", *GOAL_MIXES) else None

    def replaced(self, changes: Mapping[str, Any]) -> "Configured":
        """A copy with settings or whole parts replaced, given by full name."""
        tree: dict[str, Any] = {}
        for name, value in changes.items():
            _put(tree, _path(name), value)
        recipe = self.recipe if "recipe" not in tree else _replaced(_with_mixes(self.recipe, tree["recipe"]), tree["recipe"])
        return Configured(recipe, _replaced(self.schedule, tree.get("schedule", {})))

    def parsed(self, words: Sequence[str], prog: str = "mvl train") -> "Configured":
        """A copy with the settings that flags of `mvl train` change; raises on an unknown flag. Exits as argparse does."""
        made, unknown_words = self.parse_known(words, prog)
        if unknown_words:
            raise unknown("option", unknown_words[0], [f"--{name.replace('_', '-')}" for name in self.settings()])
        return made

    def parse_known(self, words: Sequence[str], prog: str = "mvl train") -> tuple["Configured", list[str]]:
        """A copy with the settings that flags of `mvl train` change, and the words that belong to no setting."""
        import tyro

        made: Any
        made, rest = tyro.cli(self._as_class(), args=list(words), prog=prog, return_unknown_args=True)
        parts = {axis: getattr(made, axis) for axis in registry.AXES}
        learning = Learning(**_settings_of(made.learning))
        return Configured(Recipe(**parts, learning=learning), made.schedule), rest

    def read(self, texts: Mapping[str, str]) -> "Configured":
        """A copy with settings replaced by values given as text, by full name."""
        try:
            with redirect_stderr(StringIO()):  # tyro prints a box; our errors are one sentence
                return self.parsed(as_flags(self.settings(), texts))
        except SystemExit:
            shown = ", ".join(f"{name}={value}" for name, value in texts.items())
            raise UsageError(f"a value in {shown} has the wrong type for its setting; see: mvl train TASK --help") from None

    def _as_class(self) -> type:
        """A dataclass of all settings with the current values as defaults, from which tyro makes flags and their help."""
        import tyro

        flat = tyro.conf.arg(name="")  # --steps, not --schedule.steps
        learning = _settings_of(with_explicit_goals(self.recipe).learning)
        decided = LearningFlags(**{**learning, "normalize": bool(learning["normalize"])})
        groups: list[Any] = [(axis, type(part), part) for axis in registry.AXES if (part := getattr(self.recipe, axis))]
        groups += [
            ("schedule", Annotated[Schedule, flat], self.schedule),
            ("learning", Annotated[LearningFlags, flat, tyro.conf.AvoidSubcommands], decided),
        ]
        return make_dataclass("Settings", groups, frozen=True)


GOAL_MIXES = ("value_goals", "actor_goals")


def with_explicit_goals(recipe: Recipe) -> Recipe:
    """The same recipe with the value's default goal mix filled in if none is set, so that recipes can be compared."""
    return replace(recipe, learning=replace(recipe.learning, value_goals=recipe.value_goals))


def as_flags(known: Mapping[str, Any], changes: Mapping[str, str]) -> list[str]:
    """Changed settings as arguments of `mvl train`; `known` has the current values, whose types decide the form of a flag."""
    words: list[str] = []
    for name, value in changes.items():
        dashed = name.replace("_", "-")
        if isinstance(known.get(name), bool):
            head, dot, last = dashed.rpartition(".")
            words.append(f"--{dashed}" if value.lower() in ("true", "1", "yes") else f"--{head}{dot}no-{last}")
        else:
            words += [f"--{dashed}", *value.split()]
    return words


def as_text(value: Any) -> str:
    """The value of a setting as it is written on the command line."""
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _settings_of(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass, by name."""
    return {f.name: getattr(thing, f.name) for f in fields(thing)}


def _flat(settings: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The same settings with nested dataclasses flattened to dotted names."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{before}{key}"
        found |= _flat(_settings_of(value), f"{name}.") if is_dataclass(value) else {name: value}
    return found


def _path(name: str) -> list[str]:
    """Attribute path from a `Configured` to a setting, given its full name."""
    head = name.split(".")[0]
    if head in registry.AXES or head == "learning":
        return ["recipe", *name.split(".")]
    if head in Schedule.__dataclass_fields__:
        return ["schedule", *name.split(".")]
    return ["recipe", "learning", *name.split(".")]


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    tree[path[-1]] = value


def _replaced(thing: Any, tree: Mapping[str, Any]) -> Any:
    """A nested dataclass with leaves replaced, all those of a level together, because `__post_init__` checks them together."""
    values = {name: _replaced(getattr(thing, name), value) if isinstance(value, dict) else value for name, value in tree.items()}
    return replace(thing, **values)


def _with_mixes(recipe: Recipe, tree: Mapping[str, Any]) -> Recipe:
    """The recipe with an explicit goal mix if single shares of the value's mix are to be replaced."""
    changed = tree.get("learning", {})
    return with_explicit_goals(recipe) if isinstance(changed, dict) and isinstance(changed.get("value_goals"), dict) else recipe
