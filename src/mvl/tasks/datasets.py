"""Datasets of tasks: generated with the task's simulator, or fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mvl.data import generation
from mvl.data.download import Report
from mvl.data.sources.npz import folders
from mvl.errors import UsageError
from mvl.tasks import task_names
from mvl.tasks.task import Task


def generate(task: Task, folder: Path, **options: Any) -> tuple[Path, Path]:
    """Make the training and validation files of a task; `options` are those of `mvl.data.generation.generate`."""
    if task.generator is None or task.size is None:
        able = dict.fromkeys(known.dataset for known in task_names().values() if known.generator)
        raise UsageError(f"{task} cannot be generated; these can: {', '.join(able)}.")
    if task.check:
        task.check()
    return generation.generate(task.dataset, task.generator, task.size, folder, **options)


def fetch(
    task: Task,
    folder: Path | None,
    places: list[str] | None = None,
    report: Callable[[str], Report] = lambda name: lambda *_: None,
) -> list[Path]:
    """Fetch the training and validation files of a task, from `places` first; by default into the family's own folder."""
    if task.fetch is None:
        raise UsageError(f"{task} has no dataset to fetch.")
    return task.fetch(task.dataset, folder, places, report)


def missing(tasks: Iterable[Task], folder: Path | None) -> list[Task]:
    """Tasks whose files are in none of the folders; of those that share a dataset, one."""
    named = {task.dataset: task for task in tasks if task.dataset}
    whole = lambda place, name: all((place / f"{name}{part}.npz").exists() for part in ("", "-val"))
    return [task for name, task in named.items() if not any(whole(place, name) for place in folders(folder))]
