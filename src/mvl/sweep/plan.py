"""What is wanted: the cells of a table, the variant behind each, and the jobs that are left to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from mvl.data.names import TaskName
from mvl.errors import MvlError, UsageError, unknown
from mvl.recipes import paper
from mvl.recipes.families import RECIPES, canonical
from mvl.recipes.paper import Column, Published
from mvl.recipes.settings import has
from mvl.sweep.job import Job, Variant
from mvl.sweep.store import held, remaining


@dataclass(frozen=True)
class Cell:
    """One number wanted: where it stands, what trains it, and what the paper has there."""

    row: str
    part: str
    """`overall`, or the task or subtask of the row that this is about."""
    column: str
    variant: Variant | None
    why_not: str = ""
    """Why there is no variant."""
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
    """Whether the seeds of a variant are trained in one run, which fills a large device, or each in its own."""
    records: Path | None = None
    """Finished runs that count besides those of the store, by name; see `mvl.sweep.records`."""

    @property
    def variants(self) -> list[Variant]:
        """Each once, however many cells it fills, in the order of the table."""
        return list(dict.fromkeys(cell.variant for cell in self.cells if cell.variant))

    def jobs(self) -> list[Job]:
        """What is left to do; the first seeds of all variants come first, so that early on every cell has something."""
        left = [
            (index, number, job)
            for number, variant in enumerate(self.variants)
            for index, job in enumerate(remaining(variant, self.seeds, self.store, self.data, self.together, self.records))
        ]
        return [job for *_, job in sorted(left, key=lambda entry: entry[:2])]

    def done(self) -> int:
        """Seeds of variants that are finished."""
        there = (held(variant, self.store, self.data, self.records).finished for variant in self.variants)
        return sum(len(finished.keys() & set(self.seeds)) for finished in there)


def paper_cells(table: str, rows: Sequence[str], columns: Sequence[str], preset: str, wanted: Mapping[str, str]) -> list[Cell]:
    """The cells of a table of the paper, or of some rows and columns; tasks and recipes that it has not may be named too."""
    about = paper.named(table)
    wanted_rows = [_row(table, name) for name in rows] or paper.rows(table)
    wanted_columns = dict(_column(table, name) for name in columns) or about.columns
    found = []
    for row, (name, column) in product(wanted_rows, wanted_columns.items()):
        task = paper.task_of(row)
        variant = None if about.unavailable else Variant.of(task, column.recipe, preset, {**column.changes, **wanted})
        for part in paper.parts(table, row):
            published = paper.cell(table, row, name, part)
            elsewhere = paper.cells_for(task, column.recipe) if part == "overall" and column == Column(column.recipe) else []
            found.append(Cell(row, part, name, variant, about.unavailable, published or next(iter(elsewhere), None)))
    _check_known(wanted, found)
    return found


def sweep_cells(
    tasks: Sequence[str], recipes: Sequence[str], preset: str, grid: Mapping[str, Sequence[str]], wanted: Mapping[str, str]
) -> list[Cell]:
    """Tasks by recipes by every combination of the grid's values.

    A recipe may bring settings of its own, spelled like the folders of the store: `gcivl-mvl+regularizer.samples=10`.
    """
    found = []
    for task, recipe in product(tasks, recipes):
        name, *own = recipe.split("+")
        brought = {key: ",".join(values) for key, values in parse_grid(own).items()}
        for key in brought:
            if not has(name, preset, TaskName.parse(task), key):
                raise UsageError(f"{name} has no setting '{key}'; see: mvl train TASK --recipe {name} --help")
        for values in product(*grid.values()):
            variant = Variant.of(task, name, preset, {**wanted, **brought, **dict(zip(grid, values, strict=True))})
            changed = " ".join(f"{name}={value}" for name, value in zip(grid, values, strict=True))
            published = [] if variant.changes else paper.cells_for(variant.task, variant.recipe)
            found.append(Cell(variant.task, "overall", f"{recipe} {changed}".strip(), variant, "", next(iter(published), None)))
    _check_known({**wanted, **dict.fromkeys(grid, "")}, found)
    return found


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
        task = str(TaskName.parse(paper.task_of(name)))
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


def _check_known(wanted: Mapping[str, str], cells: Sequence[Cell]) -> None:
    """A setting that no recipe of the plan has is a mistake; one that some have not concerns the others."""
    variants = {(cell.variant.recipe, cell.variant.preset): cell.variant for cell in cells if cell.variant}
    for key in wanted if variants else ():
        if not any(has(recipe, preset, TaskName.parse(v.task), key) for (recipe, preset), v in variants.items()):
            raise UsageError(f"no recipe here has a setting '{key}'; see: mvl train TASK --recipe RECIPE --help")
