"""Every recipe by name: a family, a representation and a regularizer."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Family(NamedTuple):
    """A way to learn a value, a way to draw a policy from it, and the goals both are told when nothing else is asked for."""

    value: str
    policy: str
    representation: str = "identity"
    settings: dict[str, dict[str, Any]] = {}
    """Settings of single parts that differ from the part's own, by the part's name."""


FAMILIES = {
    "gcivl": Family("implicit_v", "advantage_weighted"),
    "hiql": Family("implicit_v", "hierarchical", "subgoal", {"implicit_v": {"expectile": 0.7}}),
    "gciql": Family("implicit_q", "gradient"),
    "crl": Family("contrastive", "gradient"),
    "qrl": Family("quasimetric", "gradient"),
    "trl": Family("transitive", "gradient", settings={"gradient": {"norm": True}}),
    "tdp": Family("subgoal_tree", "gradient", settings={"gradient": {"norm": True}}),
    "coe": Family("compositional", "gradient", settings={"gradient": {"norm": True}}),
    "bc": Family("absent", "clone"),
    "fbc": Family("absent", "flow"),
}
RECONSTRUCTIONS = {"tdp", "coe"}
"""Families whose published numbers come from code nobody could read; ours is built from their papers."""

REPRESENTATIONS = ("identity", "vib", "vip", "tra", "byol", "dual", "subgoal")

# suffix: regularizer
REGULARIZERS = {"": "none", "-mvl": "mollified", "-eik": "eikonal", "-slope": "slope"}

ALIASES = {"orig": "gcivl", "gcbc": "bc", "gcfbc": "fbc"}
"""Other words for a family; `orig` is the paper's for GCIVL on the raw goal."""


class Names(NamedTuple):
    """The parts of a recipe, by name."""

    representation: str
    regularizer: str
    value: str
    policy: str


def stem(family: str, representation: str) -> str:
    """`hiql`, `hiql-dual`; on GCIVL, which the paper's representations are built on, simply `dual`."""
    if representation == FAMILIES[family].representation:
        return family
    return representation if family == "gcivl" else f"{family}-{representation}"


RECIPES = {
    f"{stem(family, representation)}{suffix}": (family, Names(representation, regularizer, parts.value, parts.policy))
    for family, parts in FAMILIES.items()
    for representation in REPRESENTATIONS
    for suffix, regularizer in REGULARIZERS.items()
}
"""Every name with its family and parts; parts that do not fit together are refused when the recipe is built."""


def canonical(name: str) -> str:
    """The recipe that another name stands for."""
    first, *rest = name.split("-")
    family = ALIASES.get(first, first)
    if family in FAMILIES and rest and rest[0] in REPRESENTATIONS:
        return "-".join([stem(family, rest[0]), *rest[1:]])
    return "-".join([family, *rest])


def name_of_parts(parts: Mapping[str, str]) -> str | None:
    """The recipe that is made of these parts, by axis; None if none is."""
    wanted = Names(**parts)
    return next((name for name, (_, named) in RECIPES.items() if named == wanted), None)
