"""Columns of a table aggregated over all its tasks, with bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mvl.recipes.families import RECIPES, canonical
from mvl.results.bootstrap import Interval, bootstrap_interval
from mvl.results.results import Result
from mvl.results.statistics import interquartile_mean, probability_of_improvement
from mvl.results.table import Table

MEANING = (
    "Over all tasks: the interquartile mean in percent, and how likely a seed of the column beats one of the other column on "
    "the same task (ties count half); 95 % stratified bootstrap intervals."
)
COLUMNS = ("column", "interquartile mean", "probability")


@dataclass(frozen=True)
class Aggregate:
    """Scores of one column over all tasks."""

    column: str
    score: Interval
    """The interquartile mean in percent."""
    rival: str = ""
    """The column it is compared with: the same recipe without a regularizer if the table has it, else the first column."""
    better: Interval | None = None
    """Probability that a seed of this column beats one of the rival's."""

    @property
    def row(self) -> tuple[str, str, str]:
        score = f"{self.score.value:.0f} [{self.score.low:.0f}, {self.score.high:.0f}]"
        return self.column, score, f"{self.better} against {self.rival}" if self.better else ""


def aggregate_table(found: Sequence[Result]) -> Table:
    return Table(COLUMNS, [line.row for line in aggregates(found)], notes=[MEANING], labels=1)


def aggregates(found: Sequence[Result]) -> list[Aggregate]:
    """One for each column that has at least two seeds in every row with results; empty if fewer than two columns have."""
    scores = _scores(found)
    if len(scores) < 2:
        return []
    recipes = {result.cell.column: canonical(result.cell.experiment.recipe_name) for result in found}
    lines = []
    for column, own in scores.items():
        generator = np.random.default_rng(0)
        score = bootstrap_interval(interquartile_mean, 100 * own, generator=generator)
        rival = _rival(column, {name: recipes[name] for name in scores})
        if rival == column:
            lines.append(Aggregate(column, score))
        else:
            better = bootstrap_interval(probability_of_improvement, own, scores[rival], generator=generator)
            lines.append(Aggregate(column, score, rival, better))
    return lines


def _scores(found: Sequence[Result]) -> dict[str, np.ndarray]:
    """Scores (seeds, tasks) by column, with as many seeds as every row of the column has; incomplete columns are left out."""
    finished = [result for result in found if result.cell.part == "overall" and result.seeds]
    rows = {result.cell.row for result in finished}
    by_column: dict[str, list[Result]] = {}
    for result in finished:
        by_column.setdefault(result.cell.column, []).append(result)
    scores = {}
    for column, results in by_column.items():
        seeds = min(len(result.seeds) for result in results)
        if {result.cell.row for result in results} == rows and seeds > 1:
            scores[column] = np.concatenate([[seed.tasks for seed in result.seeds[:seeds]] for result in results], axis=1)
    return scores


def _rival(column: str, recipes: dict[str, str]) -> str:
    """The column to compare a column with; see `Aggregate.rival`."""
    family, parts = RECIPES[recipes[column]]
    plain = family, parts._replace(regularizer="none")
    same = [name for name, recipe in recipes.items() if RECIPES[recipe] == plain]
    return same[0] if same and RECIPES[recipes[column]] != plain else next(iter(recipes))
