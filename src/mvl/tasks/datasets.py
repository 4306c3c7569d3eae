"""Datasets of tasks: generated with an environment, or downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mvl.data import generation
from mvl.data.download import Report
from mvl.data.raw import RawFolder
from mvl.data.sources.npz import folders
from mvl.errors import UsageError
from mvl.tasks import task_names
from mvl.tasks.task import Task


def generate(task: Task, folder: Path, *, raw: Path | None = None, **options: Any) -> tuple[Path, Path]:
    """Generate the training and validation files of a task; `options` are those of `mvl.data.generation.generate`.

    The folder `raw` gets the training episodes as a lab records them, for tasks that say how.
    """
    if task.generator is None or task.size is None:
        names = dict.fromkeys(known.dataset for known in task_names().values() if known.generator)
        raise UsageError(f"{task} cannot be generated; these can: {', '.join(names)}.")
    if raw and task.recording is None:
        names = dict.fromkeys(known.dataset for known in task_names().values() if known.recording)
        raise UsageError(f"{task} has no recordings, so leave --raw out; these have: {', '.join(names)}.")
    if task.check:
        task.check()
    recordings = None
    if raw and task.recording:
        origin = {"task": task.dataset, "seed": options.get("seed", 0)}
        recordings = RawFolder(raw, task.recording, origin, options.get("overwrite", False))
    return generation.generate(task.dataset, task.generator, task.size, folder, raw=recordings, **options)


def fetch(
    task: Task,
    folder: Path | None,
    addresses: list[str] | None = None,
    report: Callable[[str], Report] = lambda name: lambda *_: None,
) -> list[Path]:
    """Fetch the training and validation files of a task, from `addresses` first; by default into the family's own folder."""
    if task.fetch is None:
        raise UsageError(f"{task} has no dataset to fetch.")
    return task.fetch(task.dataset, folder, addresses, report)


def missing(tasks: Iterable[Task], folder: Path | None) -> list[Task]:
    """Tasks whose files are in none of the data folders; only one of several that share a dataset."""
    by_dataset = {task.dataset: task for task in tasks if task.dataset}
    return [task for name, task in by_dataset.items() if not any(_complete(place, name) for place in folders(folder))]


def _complete(folder: Path, name: str) -> bool:
    """Whether both files of a dataset are in a folder."""
    return all((folder / f"{name}{part}.npz").exists() for part in ("", "-val"))
