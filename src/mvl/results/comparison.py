"""The results of a plan beside the paper's, as a table."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mvl.evaluation.held_out.measures import BEST
from mvl.experiment import Experiment
from mvl.recipes import paper
from mvl.recipes.families import canonical
from mvl.results.aggregate import aggregate_table
from mvl.results.average import MEANING, Average, averages
from mvl.results.held_out import held_out_table
from mvl.results.highlight import Highlighter, highlighter
from mvl.results.results import Result, published_text
from mvl.results.table import Marked, Table
from mvl.studies.display import duration
from mvl.studies.plan import Plan
from mvl.studies.store import process_seconds

SUCCESS = (
    "Success in percent, mean over seeds with a 95 % interval (Student's), each seed the mean of its last three evaluations. "
)
SUCCESS_WITH_STD = (
    "Success in percent, mean ± standard deviation over seeds (with n - 1), each seed the mean of its last three evaluations. "
)
AGREEMENT = (
    "Agreement: = where the interval and the paper's mean ± std overlap, > where ours lies above, < below, "
    "? where one seed cannot say."
)
BEST_EVALUATION = "{columns}: the best evaluation of each seed, the protocol under which these numbers were published first."
HIGHLIGHT = (
    "Highlighted, ours and the paper's apart: bold (in text *) within 5 {unit} of the best in the row, "
    "italic (+) a mollified column above its plain one."
)
WITHOUT_ENVIRONMENT = (
    f"Tasks without an environment: {BEST} in percent instead of success, the share of held-out goals that rollouts reach in a "
    "model learned from the training data."
)
COLUMNS = ("row", "column", "ours", "paper", "", "seeds", "steps")
CSV_COLUMNS = (
    *("row", "part", "column", "task", "recipe", "changes", "preset", "steps", "seeds", "mean", "low", "high", "per_seed"),
    *("per_task", "paper_mean", "paper_std", "paper_table", "agreement", "data_sha256", "seconds"),
)


class Style(NamedTuple):
    """How results are printed."""

    with_std: bool = False
    """Mean ± standard deviation, as in the paper, instead of an interval."""
    highlight: bool = False
    """Mark the best results of each row."""


PLAIN = Style()


def comparison(plan: Plan, found: Sequence[Result], style: Style = PLAIN) -> Table:
    """A row for each cell and for averages, then the columns over all tasks, then the computing time."""
    across_tasks = aggregate_table(found)
    judged = [result for result in found if not result.simulated]
    measures = held_out_table(judged)
    runs = {seed.run for result in found for seed in result.seeds}
    cost = f"{len(runs)} finished runs, {duration(_seconds(found))} of process time in all."
    lines, notes = _lines(plan, found, style), _notes(plan, found, style)
    return Table(
        COLUMNS,
        lines,
        f"{plan.name}: {plan.title}",
        notes,
        labels=2,
        below=[*(extra for extra in (measures, across_tasks) if extra.rows), cost],
        as_csv=Table(CSV_COLUMNS, [_csv_row(result) for result in found]),
        as_latex=_grid(lines, notes),
    )


class Line(NamedTuple):
    """A result or an average as it is printed."""

    label: str
    column: str
    ours: str | Marked
    paper: str | Marked
    agreement: str
    seeds: str
    steps: str


def _lines(plan: Plan, found: Sequence[Result], style: Style) -> list[Line]:
    shown: list[Result | Average] = [*found, *averages(plan, found)]
    marks = _marks(plan, shown) if style.highlight else {}
    lines = []
    for one in shown:
        mark_ours, mark_theirs = marks.get(one.label, (_as_it_is, _as_it_is))
        ours = mark_ours(one.column, one.text(style.with_std))
        theirs = mark_theirs(one.column, published_text(one.paper, plan.name))
        steps = str(one.steps) if one.steps and one.values else ""
        lines.append(Line(one.label, one.column, ours, theirs, one.agreement, str(len(one.values)), steps))
    return lines


def _marks(plan: Plan, shown: Sequence[Result | Average]) -> dict[str, tuple[Highlighter, Highlighter]]:
    """For each row what highlights our numbers, and what highlights the paper's."""
    about = paper.TABLES.get(plan.name)
    in_points = about is not None and about.in_points
    recipes = {cell.column: canonical(cell.experiment.recipe_name) for cell in plan.cells}
    rows: dict[str, list[Result | Average]] = {}
    for one in shown:
        rows.setdefault(one.label, []).append(one)
    marks = {}
    for label, row in rows.items():
        ours = {one.column: one.estimate.mean for one in row if one.estimate}
        theirs = {one.column: one.paper.mean for one in row if one.paper and one.column in recipes}
        marks[label] = highlighter(ours, recipes, in_points), highlighter(theirs, recipes, in_points)
    return marks


def _as_it_is(column: str, text: str) -> str:
    return text


def _notes(plan: Plan, found: Sequence[Result], style: Style) -> list[str]:
    """Paragraphs that explain the numbers."""
    about = paper.TABLES.get(plan.name)
    simulated = [result.simulated for result in found]
    notes = [(SUCCESS_WITH_STD if style.with_std else SUCCESS) + AGREEMENT] if any(simulated) else []
    notes += [] if all(simulated) else [WITHOUT_ENVIRONMENT]
    best = dict.fromkeys(result.cell.column for result in found if result.cell.best)
    notes += [BEST_EVALUATION.format(columns=", ".join(best))] if best else []
    if made := averages(plan, found):
        notes.append(MEANING.format(name=made[0].label, rows=len(made[0].results)))
    if style.highlight:
        notes.append(HIGHLIGHT.format(unit="points" if about and about.in_points else "percent"))
    return notes


def _csv_row(result: Result) -> list[object]:
    cell, published = result.cell, result.cell.paper
    numbers = [f"{value:.2f}" for value in result.estimate] if result.estimate else [""] * 3
    tasks = np.mean([seed.tasks for seed in result.seeds], axis=0) if result.seeds else []
    per_seed, per_task = (" ".join(f"{value:.2f}" for value in values) for values in (result.values, 100 * np.asarray(tasks)))
    theirs = [published.mean, published.std, published.table] if published else [""] * 3
    data = " ".join(sorted({seed.data[:12] for seed in result.seeds}))
    place = [cell.row, cell.part, cell.column, *_training(cell.experiment), result.steps, len(result.seeds)]
    return [*place, *numbers, per_seed, per_task, *theirs, result.agreement, data, round(_seconds([result]))]


def _training(experiment: Experiment) -> list[object]:
    """Task, recipe, changed settings and preset."""
    changes = " ".join(f"{name}={value.replace(' ', ',')}" for name, value in experiment.changes().items())
    return [experiment.task.label, canonical(experiment.recipe_name), changes, experiment.preset]


def _seconds(found: Sequence[Result]) -> float:
    """Process time of all runs, each counted once."""
    return math.fsum(process_seconds(run) for run in {seed.run for result in found for seed in result.seeds})


def _grid(lines: Sequence[Line], notes: Sequence[str]) -> Table:
    """The paper's shape: rows by columns, ours above the paper's."""
    columns = list(dict.fromkeys(line.column for line in lines))
    by_place = {(line.label, line.column): line for line in lines}
    rows: list[list[object]] = []
    for label in dict.fromkeys(line.label for line in lines):
        cells = [by_place.get((label, column)) for column in columns]
        rows.append([label, *(_grid_cell(line) for line in cells)])
        rows.append([r"\quad paper", *(line.paper if line else "" for line in cells)])
    return Table(["", *columns], rows, notes=notes)


def _grid_cell(line: Line | None) -> object:
    """Our result and its agreement; `--` where there is none."""
    if line is None or line.seeds == "0":
        return "--"
    if isinstance(line.ours, Marked):
        return replace(line.ours, value=f"{line.ours.value} {line.agreement}".strip())
    return f"{line.ours} {line.agreement}".strip()
