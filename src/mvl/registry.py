"""Finds parts by name. A part is a file in the folder of its axis, an installed plug-in, or a class of the user's own code.

A plug-in is an entry point in the group `mvl.<axis>` (for example `mvl.regularizer`) that names a dataclass. A class of the
user's own code is named by its import path, `module:Class`. Such a path does not import anything: it is looked up among the
modules that are already imported, and a module is imported only if the user names it (`--parts`).
"""

import importlib
import importlib.util
import pkgutil
import sys
from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from mvl.errors import UsageError, unknown

_files: dict[str, str] = {}
"""Files of the modules that the user named by a file, by the module's name."""
AXES = {
    "representation": "mvl.representations",
    "regularizer": "mvl.regularizers",
    "value": "mvl.values",
    "policy": "mvl.policies",
    "encoder": "mvl.encoders",
}
"""The four axes, and what turns images into what the networks of all of them take."""


def names(axis: str) -> list[str]:
    """Names of all parts of an axis; none of them is imported."""
    return [*_shipped(axis), *(plugin.name for plugin in _plugins(axis))]


@cache
def _shipped(axis: str) -> list[str]:
    """Names of the parts in the axis's folder."""
    return [module.name for module in pkgutil.iter_modules(importlib.import_module(AXES[axis]).__path__)]


@cache
def _plugins(axis: str) -> tuple[EntryPoint, ...]:
    """The installed plug-ins of an axis, searched for once: that reads the metadata of every installed package."""
    return tuple(entry_points(group=f"mvl.{axis}"))


def part_class(axis: str, name: str) -> type[Any]:
    """The dataclass of a part, given its name or import path."""
    return imported(name) if ":" in name else _registered(axis, name)


@cache
def _registered(axis: str, name: str) -> type[Any]:
    """The dataclass that a part's file defines, or that a plug-in points to."""
    for plugin in _plugins(axis):
        if plugin.name == name:
            part: type[Any] = plugin.load()
            return part
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
    """The object at an import path. Its module must already be imported, so that a path read from a file runs no code."""
    module_name, _, name = path.partition(":")
    module = sys.modules.get("__main__" if module_name == _main_name() else module_name)
    if module is None:
        raise UsageError(
            f"'{path}' is your own code and is not imported; name its module with --parts {module_name}, or import it first."
        )
    found: Any = module
    for step in name.split("."):
        found = getattr(found, step, None)
    if found is None:
        raise UsageError(f"module '{module_name}' has no '{name}'.")
    return found


def import_module(name: str) -> ModuleType:
    """Import the module that the user names, by module name (also from the current folder) or as a .py file."""
    if name.endswith(".py"):
        file = Path(name).resolve()
        sys.path.append(str(file.parent))
        name = file.stem
        _files[name] = str(file)
    else:
        sys.path.append(str(Path.cwd()))  # last, so that a file there cannot take the place of an installed package
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise UsageError(f"there is no module '{name}' in this folder or among the installed packages; check its name.") from None


def importable(path: str) -> str:
    """An import path that another process can use: with the .py file, if the module was imported from one by `import_module`."""
    module, colon, name = path.partition(":")
    return f"{_files.get(module, module)}{colon}{name}"


def _main_name() -> str:
    """The name under which the running script could be imported."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    file = getattr(main, "__file__", None)
    return Path(file).stem if file else "__main__"
