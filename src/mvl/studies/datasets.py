"""Datasets that a plan needs and that are missing: generated if the task has a generator, otherwise downloaded."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from mvl.data.sources.npz import default_folder
from mvl.errors import MvlError
from mvl.runs.display import counting
from mvl.tasks import Task
from mvl.tasks.datasets import fetch, generate


def provide(tasks: Iterable[Task], folder: Path | None, episodes: int | None) -> dict[str, str]:
    """Generate or download the datasets of these tasks; returns the names of those that failed, with the reason."""
    failed = {}
    for task in tasks:
        try:
            _provide(task, folder, episodes)
        except MvlError as error:
            failed[task.dataset] = str(error)
    return failed


def _provide(task: Task, folder: Path | None, episodes: int | None) -> None:
    with ExitStack() as bars:
        bar: Callable[[str], Callable[[int, int], None]] = lambda title: bars.enter_context(counting(title))
        if task.generator:
            generate(task, folder or default_folder(), episodes=episodes, report=bar(f"generating {task.dataset}"))
        else:
            fetch(task, folder, report=lambda name: bar(f"downloading {name}"))
