"""Tasks, where data and environments come from. A family is a file here with a function `tasks`, or a plug-in.

A plug-in is an entry point in the group `mvl.task` that names a function which returns a list of tasks.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType

from mvl.errors import UsageError, unknown
from mvl.tasks.task import Task

__all__ = ["Task", "experts", "find_task", "task_names"]


def _modules() -> list[ModuleType]:
    return [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]


def experts() -> dict[str, Callable[..., str]]:
    """Functions that train a policy online, with which a family generates data, by name."""
    return {name: train for module in _modules() for name, train in getattr(module, "EXPERTS", {}).items()}


@cache
def task_names() -> dict[str, Task]:
    """Every task by name."""
    makers = [module.tasks for module in _modules() if callable(getattr(module, "tasks", None))]
    makers += [plugin.load() for plugin in entry_points(group="mvl.task")]
    found: dict[str, Task] = {}
    for task in (task for make in makers for task in make()):
        if task.name in found:
            raise UsageError(f"two families have a task named '{task.name}'; uninstall one of them.")
        found[task.name] = task
    return found


def find_task(name: str) -> Task:
    """The task of that name; the version (`-v0`) may be left out."""
    known = task_names()
    if name in known:
        return known[name]
    for full, task in known.items():
        if name == full.rpartition("-")[0]:
            return task
    raise unknown("task", name, known)
