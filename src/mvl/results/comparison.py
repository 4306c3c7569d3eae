"""The results of a plan beside the paper's, as a table."""

import math
from collections.abc import Sequence

import numpy as np

from mvl.evaluation.held_out.measures import BEST
from mvl.experiment import Experiment
from mvl.recipes.families import canonical
from mvl.results.aggregate import aggregate_table
from mvl.results.held_out import held_out_table
from mvl.results.results import Result
from mvl.results.table import Table
from mvl.studies.display import duration
from mvl.studies.plan import Plan
from mvl.studies.store import process_seconds

AGREEMENT = (
    "Success in percent, mean over seeds with a 95 % interval (Student's), each seed the mean of its last three evaluations. "
    "Agreement: = where the interval and the paper's mean ± std overlap, > where ours lies above, < below, "
    "? where one seed cannot say."
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


def comparison(plan: Plan, found: Sequence[Result]) -> Table:
    """A row for each cell, then the columns over all tasks, then the computing time."""
    across_tasks = aggregate_table(found)
    judged = [result for result in found if not result.simulated]
    measures = held_out_table(judged)
    runs = {seed.run for result in found for seed in result.seeds}
    cost = f"{len(runs)} finished runs, {duration(_seconds(found))} of process time in all."
    return Table(
        COLUMNS,
        [_row(plan, result) for result in found],
        f"{plan.name}: {plan.title}",
        [*([AGREEMENT] if len(judged) < len(found) else []), *([WITHOUT_ENVIRONMENT] if judged else [])],
        labels=2,
        below=[*(extra for extra in (measures, across_tasks) if extra.rows), cost],
        as_csv=Table(CSV_COLUMNS, [_csv_row(result) for result in found]),
        as_latex=_grid(plan, found),
    )


def _row(plan: Plan, result: Result) -> tuple[str, ...]:
    numbers = str(len(result.seeds)), str(result.steps) if result.seeds else ""
    return result.label, result.cell.column, result.ours, result.published(plan.name), result.agreement, *numbers


def _csv_row(result: Result) -> list[object]:
    cell, paper = result.cell, result.cell.paper
    numbers = [f"{value:.2f}" for value in result.estimate] if result.estimate else [""] * 3
    tasks = np.mean([seed.tasks for seed in result.seeds], axis=0) if result.seeds else []
    per_seed, per_task = (" ".join(f"{value:.2f}" for value in values) for values in (result.values, 100 * np.asarray(tasks)))
    published = [paper.mean, paper.std, paper.table] if paper else [""] * 3
    data = " ".join(sorted({seed.data[:12] for seed in result.seeds}))
    place = [cell.row, cell.part, cell.column, *_training(cell.experiment), result.steps, len(result.seeds)]
    return [*place, *numbers, per_seed, per_task, *published, result.agreement, data, round(_seconds([result]))]


def _training(experiment: Experiment | None) -> list[object]:
    """Task, recipe, changed settings and preset."""
    if experiment is None:
        return [""] * 4
    changes = " ".join(f"{name}={value.replace(' ', ',')}" for name, value in experiment.changes().items())
    return [str(experiment.task), canonical(experiment.recipe_name), changes, experiment.preset]


def _seconds(found: Sequence[Result]) -> float:
    """Process time of all runs, each counted once."""
    return math.fsum(process_seconds(run) for run in {seed.run for result in found for seed in result.seeds})


def _grid(plan: Plan, found: Sequence[Result]) -> Table:
    """The paper's shape: rows by columns, ours above the paper's."""
    columns = list(dict.fromkeys(result.cell.column for result in found))
    by_place = {(result.label, result.cell.column): result for result in found}
    rows = []
    for label in dict.fromkeys(result.label for result in found):
        cells = [by_place[label, column] for column in columns]
        rows.append([label, *(f"{cell.ours if cell.seeds else '--'} {cell.agreement}".strip() for cell in cells)])
        rows.append([r"\quad paper", *(cell.published(plan.name) for cell in cells)])
    simulated = any(result.simulated for result in found)
    return Table(["", *columns], rows, notes=[AGREEMENT if simulated else WITHOUT_ENVIRONMENT])
