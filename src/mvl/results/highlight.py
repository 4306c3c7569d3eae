"""Highlighting as in the paper: the best of a row and what comes near it, and a mollified column that beats its plain one."""

from collections.abc import Callable, Mapping

from mvl.recipes.families import RECIPES
from mvl.results.table import Marked

NEAR = 5.0
"""Points, or percent of the best, within which a cell counts as best."""
Highlighter = Callable[[str, str], str | Marked]
"""The name of a column and a text -> the text, marked if the column is highlighted."""


def highlighter(means: Mapping[str, float], recipes: Mapping[str, str], in_points: bool) -> Highlighter:
    """Marks columns of a row by their means; `recipes` are the canonical names of the columns' recipes."""
    strong, better = near_best(means, in_points), above_plain(means, recipes)
    return lambda column, text: Marked(text, column in strong) if column in strong | better else text


def near_best(means: Mapping[str, float], in_points: bool) -> set[str]:
    """The columns within 5 points of the best, or within 5 percent of it."""
    best = max(means.values(), default=0.0)
    least = best - NEAR if in_points else best * (1 - NEAR / 100)
    return {column for column, mean in means.items() if mean >= least}


def above_plain(means: Mapping[str, float], recipes: Mapping[str, str]) -> set[str]:
    """The mollified columns above the column of the same recipe without a regularizer."""
    found = set()
    for column, mean in means.items():
        family, parts = RECIPES[recipes[column]]
        plain = family, parts._replace(regularizer="none")
        bases = [means[other] for other in means if RECIPES[recipes[other]] == plain]
        if parts.regularizer == "mollified" and bases and mean > max(bases):
            found.add(column)
    return found
