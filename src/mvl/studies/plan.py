"""A table to fill: its cells, the experiment of each cell, and the jobs that are left to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from mvl.errors import MvlError, UsageError, unknown
from mvl.experiment import Experiment
from mvl.recipes import paper
from mvl.recipes.families import RECIPES, canonical
from mvl.recipes.paper import Column, Published
from mvl.studies.job import Job
from mvl.studies.store import remaining, runs_of
from mvl.tasks import Task, find_task, task_names


@dataclass(frozen=True)
class Cell:
    """One number of a table: its row and column, the experiment that gives it, and the number in the paper."""

    row: str
    part: str
    """`overall`, or one task or subtask of the row."""
    column: str
    experiment: Experiment
    paper: Published | None = None
    """The paper's number for the same row and column, if it has one."""
    best: bool = False
    """Whether the number of a seed is its best evaluation, instead of the mean of its last three."""


@dataclass(frozen=True)
class Plan:
    """The cells of a table, with the seeds to train for each and the folders to use."""

    name: str
    title: str
    cells: list[Cell]
    seeds: list[int]
    store: Path
    """Folder of the runs."""
    data: Path | None
    """Folder of the datasets, None for the default one."""
    together: bool
    """Train all seeds of an experiment in one run, as suits a GPU, instead of each in its own run."""
    unpacked: Path | None = None
    """A second store, whose runs count where the first has none of the same name; a dry run unpacks records there."""

    @property
    def experiments(self) -> list[Experiment]:
        """The different experiments of the cells, in the order of the table."""
        return list(dict.fromkeys(cell.experiment for cell in self.cells))

    def jobs(self) -> list[Job]:
        """The jobs that are left, first seeds of all experiments first, so that every cell soon has a number."""
        left = [
            (index, number, job)
            for number, experiment in enumerate(self.experiments)
            for index, job in enumerate(remaining(experiment, self.seeds, self.store, self.data, self.together, self.unpacked))
        ]
        return [job for *_, job in sorted(left, key=lambda entry: entry[:2])]

    def done(self) -> int:
        """The number of finished seeds, over all experiments."""
        finished = (runs_of(experiment, self.store, self.data, self.unpacked).finished for experiment in self.experiments)
        return sum(len(seeds.keys() & set(self.seeds)) for seeds in finished)


@dataclass(frozen=True)
class Wanted:
    """Settings for all experiments of a plan; each applies to the recipes that have it."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Values as text by the setting's name, from `--set`."""
    flags: Sequence[str] = ()
    """Flags of `mvl train`, from after `--`."""

    def __post_init__(self) -> None:
        if self.flags and not self.flags[0].startswith("--"):
            raise UsageError(f"after -- come settings of mvl train, such as --steps 20000, not '{self.flags[0]}'.")

    def applied(self, experiment: Experiment) -> Experiment:
        """The experiment with `texts` applied, then `flags`."""
        known = {name: text for name, text in self.texts.items() if experiment.has_setting(name)}
        return experiment.with_settings(known).with_flags(self.flags)[0]

    def check(self, experiments: Sequence[Experiment]) -> None:
        """Reject settings that no recipe in the plan defines."""
        recipes = list({experiment.recipe_name: experiment for experiment in experiments}.values())
        unused = [name for name in self.texts if not any(experiment.has_setting(name) for experiment in recipes)]
        rests = [[word for word in experiment.with_flags(self.flags)[1] if word.startswith("--")] for experiment in recipes]
        unused += [word.lstrip("-") for word in (rests[0] if rests else []) if all(word in rest for rest in rests)]
        if unused and recipes:
            raise UsageError(f"no recipe here has a setting '{unused[0]}'; see: mvl train TASK --recipe RECIPE --help")


def paper_cells(
    table: str, rows: Sequence[str], columns: Sequence[str], preset: str, wanted: Wanted, source: bool = False
) -> list[Cell]:
    """The cells of a table of the paper: all, or those of some rows and columns, which may be other tasks and recipes too.

    With `source`, columns that other work published first follow the protocol of that work.
    """
    about = paper.named(table)
    if source and not about.source:
        known = [name for name, other in paper.TABLES.items() if other.source]
        raise UsageError(f"--protocol source is for {' and '.join(known)}; leave it out for {table}.")
    wanted_rows = [_row(table, name) for name in rows] or paper.rows(table)
    wanted_columns = dict(_column(table, name) for name in columns) or about.columns
    found = []
    for row, (name, column) in product(wanted_rows, wanted_columns.items()):
        task = paper.task_of(row)
        experiment, best = _paper_experiment(table, column, task, preset, source)
        made = wanted.applied(experiment)
        for part in paper.parts(table, row):
            published = paper.cell(table, row, name, part)
            elsewhere = paper.cells_for(task, column.recipe) if part == "overall" and column == Column(column.recipe) else []
            found.append(Cell(row, part, name, made, published or next(iter(elsewhere), None), best))
    wanted.check([cell.experiment for cell in found])
    return found


def _paper_experiment(table: str, column: Column, task: str, preset: str, source: bool) -> tuple[Experiment, bool]:
    """The experiment of a column, and whether its best evaluation counts."""
    experiment = Experiment.from_preset(task, column.recipe, preset).with_settings(column.changes)
    settings = paper.source_settings(column.recipe, table, task, experiment.schedule.steps) if source else None
    return (experiment, False) if settings is None else (experiment.with_settings(settings), True)


def sweep_cells(
    tasks: Sequence[str | Task], recipes: Sequence[str], preset: str, grid: Mapping[str, Sequence[str]], wanted: Wanted
) -> list[Cell]:
    """A cell for each task, recipe and combination of the grid's values.

    A recipe may have settings attached, as in the store's folder names: `gcivl-mvl+regularizer.samples=10`.
    """
    found = []
    for task, recipe in product(tasks, recipes):
        name, *attached = recipe.split("+")
        own_settings = {key: ",".join(values) for key, values in parse_grid(attached).items()}
        base = wanted.applied(Experiment.from_preset(task, name, preset))
        for key in own_settings:
            if not base.has_setting(key):
                raise UsageError(f"{name} has no setting '{key}'; see: mvl train TASK --recipe {name} --help")
        for values in product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            known = {key: value for key, value in chosen.items() if base.has_setting(key)}
            experiment = base.with_settings({**own_settings, **known})
            changed = " ".join(f"{key}={value}" for key, value in chosen.items())
            name = f"{recipe} {changed}".strip()
            found.append(Cell(experiment.task.label, "overall", name, experiment, _published(experiment)))
    every = [cell.experiment for cell in found]
    replace(wanted, texts={**wanted.texts, **dict.fromkeys(grid, "")}).check(every)
    return found


def _published(experiment: Experiment) -> Published | None:
    """The paper's number for an experiment with the preset's settings, None for any other."""
    if experiment.task.name not in task_names() or experiment.changes():
        return None
    return next(iter(paper.cells_for(experiment.task.name, experiment.recipe_name)), None)


def parse_grid(words: Sequence[str]) -> dict[str, list[str]]:
    """Values by the setting's name: `regularizer.weight=1,10` gives {"regularizer.weight": ["1", "10"]}."""
    grid = {}
    for word in words:
        name, equals, values = word.partition("=")
        if not equals or not all(values.split(",")):
            raise UsageError(f"a setting is given as SETTING=VALUE or SETTING=VALUE,VALUE, not '{word}'.")
        grid[name] = values.split(",")
    return grid


def _row(table: str, name: str) -> str:
    """The table's row of this name, which is the paper's or the task's; otherwise a new row for that task."""
    known = paper.rows(table)
    for row in known:
        if name.lower() == row.lower():
            return row
    try:
        task = str(find_task(paper.task_of(name)))
    except MvlError:
        raise unknown("row", name, known) from None
    return next((row for row in known if paper.task_of(row) == task), name if paper.task_of(name) == task else task)


def _column(table: str, name: str) -> tuple[str, Column]:
    """The table's column of this name, which is the paper's or the recipe's; otherwise a new column for that recipe."""
    columns = paper.named(table).columns
    for known, column in columns.items():
        if name.lower() == known.lower() or column == Column(canonical(name)):
            return known, column
    recipe = canonical(name.lower())
    if recipe not in RECIPES:
        raise unknown("column", name, columns)
    return name, Column(recipe)
