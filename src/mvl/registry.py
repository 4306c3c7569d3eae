"""Finds parts by name: one file in an axis's folder is one part, and so are an installed plug-in and a class of the caller.

A plug-in is an entry point in the group `mvl.<axis>` (for example `mvl.regularizer`) that names a dataclass. A class of the
caller is named by its import path, `module:Class`. Such a path never makes code run by itself: it is looked up among
modules that are imported already, and a module is imported only when the caller names it (`--parts`).
"""

import importlib
import importlib.util
import pkgutil
import sys
from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from mvl.errors import UsageError, unknown

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


def part_class(axis: str, name: str) -> type[Any]:
    """The dataclass of a part, by its name or import path."""
    return imported(name) if ":" in name else _registered(axis, name)


@cache
def _registered(axis: str, name: str) -> type[Any]:
    """The dataclass that a part's file defines, or that a plug-in points to."""
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
    """The registered name of a part's class, or its import path."""
    for name in names(axis):
        if part_class(axis, name) is type(part):
            return name
    path = import_path(type(part))
    if not path:
        raise UsageError(f"{axis} {type(part).__name__} is defined inside a function; define it at the top of a module.")
    return path


def import_path(thing: Any) -> str:
    """`module:name` of a class or function; empty if it cannot be imported by name. A path is returned as it is."""
    if thing is None or isinstance(thing, str):
        return thing or ""
    module, name = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    if not module or not name or "<" in name:
        return ""
    return f"{_main_name() if module == '__main__' else module}:{name}"


def imported(path: str) -> Any:
    """What an import path stands for. Its module must have been imported before: a path read from a file runs no code."""
    module_name, _, name = path.partition(":")
    module = sys.modules.get("__main__" if module_name == _main_name() else module_name)
    if module is None:
        raise UsageError(
            f"'{path}' is code of your own that is not imported; name its module with --parts {module_name}, or import it first."
        )
    found: Any = module
    for step in name.split("."):
        found = getattr(found, step, None)
    if found is None:
        raise UsageError(f"module '{module_name}' has no '{name}'.")
    return found


def import_module(name: str) -> ModuleType:
    """A module that the caller names: by import path, searched for in the current folder too, or as a .py file."""
    if name.endswith(".py"):
        sys.path.append(str(Path(name).resolve().parent))
        name = Path(name).stem
    else:
        sys.path.append(str(Path.cwd()))  # last, so that a file there cannot take the place of an installed package
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise UsageError(f"there is no module '{name}' here or among the installed packages.") from None


def _main_name() -> str:
    """The name under which the running script could be imported."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return spec.name
    file = getattr(main, "__file__", None)
    return Path(file).stem if file else "__main__"
