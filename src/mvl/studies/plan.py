"""What is wanted: the cells of a table, the experiment behind each, and the jobs that are left to do."""

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
from mvl.studies.store import held, remaining
from mvl.tasks import Task, find_task, task_names


@dataclass(frozen=True)
class Cell:
    """One number wanted: where it stands, what trains it, and what the paper has there."""

    row: str
    part: str
    """`overall`, or the task or subtask of the row that this is about."""
    column: str
    experiment: Experiment | None
    why_not: str = ""
    """Why there is no experiment."""
    paper: Published | None = None


@dataclass(frozen=True)
class Plan:
    """A table to fill."""

    name: str
    title: str
    cells: list[Cell]
    seeds: list[int]
    store: Path
    data: Path | None
    together: bool
    """Whether the seeds of an experiment are trained in one run, which fills a large device, or each in its own."""
    unpacked: Path | None = None
    """A second store, whose runs count where the first has none of the same name: records in a dry run."""

    @property
    def experiments(self) -> list[Experiment]:
        """Each once, however many cells it fills, in the order of the table."""
        return list(dict.fromkeys(cell.experiment for cell in self.cells if cell.experiment))

    def jobs(self) -> list[Job]:
        """What is left to do; the first seeds of all experiments come first, so that early on every cell has something."""
        left = [
            (index, number, job)
            for number, experiment in enumerate(self.experiments)
            for index, job in enumerate(remaining(experiment, self.seeds, self.store, self.data, self.together, self.unpacked))
        ]
        return [job for *_, job in sorted(left, key=lambda entry: entry[:2])]

    def done(self) -> int:
        """Seeds of experiments that are finished."""
        there = (held(experiment, self.store, self.data, self.unpacked).finished for experiment in self.experiments)
        return sum(len(finished.keys() & set(self.seeds)) for finished in there)


@dataclass(frozen=True)
class Wanted:
    """Settings for every experiment of a plan, applied where its recipe has them."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Texts by name, from `--set`."""
    flags: Sequence[str] = ()
    """Flags of `mvl train`, from after `--`."""

    def __post_init__(self) -> None:
        if self.flags and not self.flags[0].startswith("--"):
            raise UsageError(f"after -- come settings of mvl train, such as --steps 20000, not '{self.flags[0]}'.")

    def applied(self, experiment: Experiment) -> Experiment:
        """The experiment with the texts, then the flags applied."""
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


def paper_cells(table: str, rows: Sequence[str], columns: Sequence[str], preset: str, wanted: Wanted) -> list[Cell]:
    """The cells of a table of the paper, or of some rows and columns; other tasks and recipes may be named too."""
    about = paper.named(table)
    wanted_rows = [_row(table, name) for name in rows] or paper.rows(table)
    wanted_columns = dict(_column(table, name) for name in columns) or about.columns
    found = []
    for row, (name, column) in product(wanted_rows, wanted_columns.items()):
        task = paper.task_of(row)
        experiment = None
        if not about.unavailable:
            experiment = Experiment.from_preset(task, column.recipe, preset).with_settings(column.changes)
        made = wanted.applied(experiment) if experiment else None
        for part in paper.parts(table, row):
            published = paper.cell(table, row, name, part)
            elsewhere = paper.cells_for(task, column.recipe) if part == "overall" and column == Column(column.recipe) else []
            found.append(Cell(row, part, name, made, about.unavailable, published or next(iter(elsewhere), None)))
    wanted.check([cell.experiment for cell in found if cell.experiment])
    return found


def sweep_cells(
    tasks: Sequence[str | Task], recipes: Sequence[str], preset: str, grid: Mapping[str, Sequence[str]], wanted: Wanted
) -> list[Cell]:
    """Tasks by recipes by every combination of the grid's values.

    A recipe may bring settings of its own, written like the folders of the store: `gcivl-mvl+regularizer.samples=10`.
    """
    found = []
    for task, recipe in product(tasks, recipes):
        name, *own = recipe.split("+")
        brought = {key: ",".join(values) for key, values in parse_grid(own).items()}
        base = wanted.applied(Experiment.from_preset(task, name, preset))
        for key in brought:
            if not base.has_setting(key):
                raise UsageError(f"{name} has no setting '{key}'; see: mvl train TASK --recipe {name} --help")
        for values in product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            known = {key: value for key, value in chosen.items() if base.has_setting(key)}
            experiment = base.with_settings({**brought, **known})
            changed = " ".join(f"{key}={value}" for key, value in chosen.items())
            found.append(
                Cell(str(experiment.task), "overall", f"{recipe} {changed}".strip(), experiment, "", _published(experiment))
            )
    every = [cell.experiment for cell in found if cell.experiment]
    replace(wanted, texts={**wanted.texts, **dict.fromkeys(grid, "")}).check(every)
    return found


def _published(experiment: Experiment) -> Published | None:
    """The paper's result of an experiment with its usual settings."""
    if experiment.task.name not in task_names() or experiment.changes():
        return None
    return next(iter(paper.cells_for(experiment.task.name, experiment.recipe_name)), None)


def parse_grid(words: Sequence[str]) -> dict[str, list[str]]:
    """`regularizer.weight=1,10` -> its values by name."""
    grid = {}
    for word in words:
        name, given, values = word.partition("=")
        if not given or not all(values.split(",")):
            raise UsageError(f"a setting is given as FIELD=VALUE or FIELD=VALUE,VALUE, not '{word}'.")
        grid[name] = values.split(",")
    return grid


def _row(table: str, name: str) -> str:
    """A row of the table, by the paper's name or the task's; else another task."""
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
    """A column of the table, by the paper's name or the recipe's; else another recipe."""
    columns = paper.named(table).columns
    for known, column in columns.items():
        if name.lower() == known.lower() or column == Column(canonical(name)):
            return known, column
    if canonical(name) not in RECIPES:
        raise unknown("column", name, columns)
    return name, Column(canonical(name))
