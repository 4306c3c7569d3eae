"""Finds the parts of each axis: one file in the axis's folder is one part, and so is an installed plug-in.

A plug-in is an entry point in the group `mvl.<axis>` (for example `mvl.regularizer`) that names a dataclass.
"""

import importlib
import pkgutil
from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from mvl.errors import unknown

AXES = {
    "representation": "mvl.representations",
    "regularizer": "mvl.regularizers",
    "value": "mvl.values",
    "policy": "mvl.policies",
}


def names(axis: str) -> list[str]:
    """The parts of an axis, by name, without importing them."""
    folder = importlib.import_module(AXES[axis]).__path__
    shipped = [module.name for module in pkgutil.iter_modules(folder)]
    return shipped + [plugin.name for plugin in entry_points(group=f"mvl.{axis}")]


@cache
def part_class(axis: str, name: str) -> type[Any]:
    """The dataclass of a part: the one its file defines, or what the plug-in points to."""
    for plugin in entry_points(group=f"mvl.{axis}"):
        if plugin.name == name:
            return plugin.load()
    if name not in names(axis):
        raise unknown(axis, name, names(axis))
    module = importlib.import_module(f"{AXES[axis]}.{name}")
    (found,) = [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and is_dataclass(thing) and thing.__module__ == module.__name__
    ]
    return found


def name_of(axis: str, part: object) -> str:
    """The registered name of a part's class."""
    for name in names(axis):
        if part_class(axis, name) is type(part):
            return name
    raise unknown(axis, type(part).__name__, names(axis))
