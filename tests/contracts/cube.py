"""The cube of families, representations and regularizers: which compositions there are, and a few that cover every pair."""

from itertools import combinations

from mvl.errors import UsageError
from mvl.recipes.families import FAMILIES, RECIPES
from mvl.recipes.presets import named_recipe


def refusal(name: str) -> str | None:
    """Why a composition is refused; nothing if it is legal."""
    try:
        named_recipe(name, "cpu")
    except UsageError as error:
        return str(error)
    return None


LEGAL = [name for name in RECIPES if refusal(name) is None]


def pairs(name: str) -> set[tuple[str, str]]:
    """Every two parts that meet in a recipe; which axis a name belongs to is part of it."""
    _, names = RECIPES[name]
    return set(combinations([f"{axis} {part}" for axis, part in names._asdict().items()], 2))


def covering(names: list[str]) -> list[str]:
    """Some of the names whose pairs are all the pairs: each adds as many new ones as possible. The families come first."""
    chosen = list(FAMILIES)
    missing = set().union(*map(pairs, names)) - set().union(*map(pairs, chosen))
    while missing:
        best = max(names, key=lambda name: len(pairs(name) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return chosen
