"""Descriptions of experiments with changed entries: each has to be built, or refused in one sentence."""

import copy
import json
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mvl.errors import MvlError
from mvl.experiment import Experiment
from mvl.recipes.families import RECIPES

NAMES = ("gcivl-mvl", "hiql-dual-slope", "crl", "qrl-eik", "gciql-vib-mvl", "tdp", "coe", "trl-mvl", "bc", "fbc")
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**40,
    0.5,
    -0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "auto",
    "none",
    [],
    [0],
    [8, "x"],
    {},
]


def write(folder: Path) -> None:
    """Write the descriptions of several experiments."""
    assert set(NAMES) <= set(RECIPES), "names of recipes"
    for name in NAMES:
        made = Experiment.from_preset("pointmaze-medium-navigate-v0", name)
        (folder / f"{name}.json").write_text(json.dumps(made.to_json()))


def case(number: int, generator: np.random.Generator, written: Path, scratch: Path) -> str:
    """Outcome of one case: accepted, refused, or what went wrong."""
    content = json.loads((written / f"{NAMES[number % len(NAMES)]}.json").read_text())
    odd = changed(content, generator)
    try:
        Experiment.from_json(odd)
        return "accepted"
    except MvlError as error:
        return "refused" if "\n" not in str(error) else f"refused in several lines: {error}"
    except Exception:
        return f"foreign exception for {json.dumps(odd)}:\n{traceback.format_exc()}"


def changed(content: dict[str, Any], generator: np.random.Generator) -> dict[str, Any]:
    """The content with one to three entries changed, at any depth."""
    made = copy.deepcopy(content)
    for _ in range(generator.integers(1, 4)):
        places = list(leaves(made))
        inside, key = places[generator.integers(len(places))]
        inside[key] = copy.deepcopy(VALUES[generator.integers(len(VALUES))])
    return made


def leaves(thing: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every entry of nested dictionaries, with the one it is in."""
    for key, value in thing.items():
        yield thing, key
        if isinstance(value, dict):
            yield from leaves(value)
