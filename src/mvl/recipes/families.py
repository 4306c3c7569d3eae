"""Every recipe by name: a family, a representation and a regularizer."""

from typing import NamedTuple

# family: value, policy
FAMILIES = {
    "gcivl": ("implicit_v", "advantage_weighted"),
}

# suffix: regularizer
REGULARIZERS = {"": "none", "-mvl": "mollified", "-eik": "eikonal"}


class Names(NamedTuple):
    """The parts of a recipe, by name."""

    representation: str
    regularizer: str
    value: str
    policy: str


RECIPES = {
    f"{family}{suffix}": Names("identity", regularizer, value, policy)
    for family, (value, policy) in FAMILIES.items()
    for suffix, regularizer in REGULARIZERS.items()
}
