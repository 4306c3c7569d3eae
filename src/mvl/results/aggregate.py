"""What the whole of a table says: columns over all their tasks, with bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mvl.recipes.families import RECIPES, canonical
from mvl.results.bootstrap import Interval, bootstrap_interval
from mvl.results.results import Result
from mvl.results.statistics import interquartile_mean, probability_of_improvement

MEANING = (
    "Over all tasks: the interquartile mean in percent, and how likely a seed of the column beats one of the other column on "
    "the same task (ties count half); 95 % stratified bootstrap intervals."
)


@dataclass(frozen=True)
class Across:
    """A column over the tasks that all columns have."""

    column: str
    score: Interval
    rival: str = ""
    """The column it is set against: the same without a regularizer where the table has it, else the first."""
    better: Interval | None = None

    @property
    def words(self) -> tuple[str, str]:
        """The interquartile mean, and the comparison."""
        score = f"{self.score.value:.0f} [{self.score.low:.0f}, {self.score.high:.0f}]"
        return score, f"{self.better} against {self.rival}" if self.better else ""


def across(found: Sequence[Result]) -> list[Across]:
    """Columns with at least two seeds in every row that has any; nothing where no two columns do."""
    scores = _scores(found)
    if len(scores) < 2:
        return []
    recipes = {result.cell.column: canonical(result.cell.experiment.recipe_name) for result in found if result.cell.experiment}
    lines = []
    for column, mine in scores.items():
        generator = np.random.default_rng(0)
        score = bootstrap_interval(interquartile_mean, 100 * mine, generator=generator)
        rival = _rival(column, {name: recipes[name] for name in scores})
        if rival == column:
            lines.append(Across(column, score))
        else:
            better = bootstrap_interval(probability_of_improvement, mine, scores[rival], generator=generator)
            lines.append(Across(column, score, rival, better))
    return lines


def _scores(found: Sequence[Result]) -> dict[str, np.ndarray]:
    """(seeds, tasks) by column: of every row the same number of seeds, and all its tasks."""
    wholes = [result for result in found if result.cell.part == "overall" and result.seeds]
    rows = {result.cell.row for result in wholes}
    by_column: dict[str, list[Result]] = {}
    for result in wholes:
        by_column.setdefault(result.cell.column, []).append(result)
    scores = {}
    for column, results in by_column.items():
        seeds = min(len(result.seeds) for result in results)
        if {result.cell.row for result in results} == rows and seeds > 1:
            scores[column] = np.concatenate([[seed.tasks for seed in result.seeds[:seeds]] for result in results], axis=1)
    return scores


def _rival(column: str, recipes: dict[str, str]) -> str:
    family, parts = RECIPES[recipes[column]]
    plain = family, parts._replace(regularizer="none")
    same = [name for name, recipe in recipes.items() if RECIPES[recipe] == plain]
    return same[0] if same and RECIPES[recipes[column]] != plain else next(iter(recipes))
