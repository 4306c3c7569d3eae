"""Every recipe by name: a family, a representation and a regularizer."""

from typing import NamedTuple

# family: value, policy
FAMILIES = {
    "gcivl": ("implicit_v", "advantage_weighted"),
}

# Representations, each a recipe on top of GCIVL; `orig` is the paper's word for the raw goal.
REPRESENTATIONS = {"gcivl": "identity", "vib": "vib", "vip": "vip", "tra": "tra", "byol": "byol", "dual": "dual"}
ALIASES = {"orig": "gcivl"}

# suffix: regularizer
REGULARIZERS = {"": "none", "-mvl": "mollified", "-eik": "eikonal"}


class Names(NamedTuple):
    """The parts of a recipe, by name."""

    representation: str
    regularizer: str
    value: str
    policy: str


RECIPES = {
    f"{name}{suffix}": Names(representation, regularizer, *FAMILIES["gcivl"])
    for name, representation in REPRESENTATIONS.items()
    for suffix, regularizer in REGULARIZERS.items()
}


def canonical(name: str) -> str:
    """The recipe an alias stands for."""
    stem, dash, suffix = name.partition("-")
    return ALIASES.get(stem, stem) + dash + suffix
