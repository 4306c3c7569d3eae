"""Every recipe by name: a family, a representation and a regularizer."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Family(NamedTuple):
    """A value, a policy, and the representation that is used if the name of a recipe has none."""

    value: str
    policy: str
    representation: str = "identity"
    settings: dict[str, dict[str, Any]] = {}
    """Settings that differ from the defaults of a part, by the part's name."""


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
"""Families whose published numbers come from unpublished code; ours follow the papers."""

REPRESENTATIONS = ("identity", "vib", "vip", "tra", "byol", "dual", "subgoal")

REGULARIZERS = {"": "none", "-mvl": "mollified", "-eik": "eikonal", "-slope": "slope"}
"""Regularizers by the suffix of a recipe's name."""

ALIASES = {"orig": "gcivl", "gcbc": "bc", "gcfbc": "fbc"}
"""Other names of families; `orig` is the paper's name for GCIVL on the raw goal."""


PIXEL = "pixel"
"""Word in the paper's names of recipes that learn from images (GCIVL-PIXEL), which are the ordinary ones here."""


class Names(NamedTuple):
    """The parts of a recipe, by name."""

    representation: str
    regularizer: str
    value: str
    policy: str


def stem(family: str, representation: str) -> str:
    """Name of a recipe without its suffix: `hiql`, `hiql-dual`; for GCIVL, as in the paper, the representation alone (`dual`)."""
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
    """The name in `RECIPES` of a recipe that may be given by an alias; unknown names are returned as they are."""
    first, *rest = (word for word in name.split("-") if word != PIXEL)
    family = ALIASES.get(first, first)
    if family in FAMILIES and rest and rest[0] in REPRESENTATIONS:
        return "-".join([stem(family, rest[0]), *rest[1:]])
    return "-".join([family, *rest])


def name_of_parts(parts: Mapping[str, str]) -> str | None:
    """The name of the recipe with these parts, {axis: name}, whatever its encoder; None if there is none."""
    wanted = Names(**{axis: parts[axis] for axis in Names._fields})
    return next((name for name, (_, named) in RECIPES.items() if named == wanted), None)
