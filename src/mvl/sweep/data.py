"""Datasets that a plan needs and that are not at hand: made where there is a generator, else fetched."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from mvl.data.download import pull, sources
from mvl.data.generate.run import MAKERS, generate
from mvl.data.kitchen import pull as pull_by_minari
from mvl.data.names import TaskName
from mvl.data.sources.npz import default_folder, folders
from mvl.errors import MvlError
from mvl.runs.display import counting


def missing(tasks: Iterable[str], folder: Path | None) -> list[TaskName]:
    """The tasks whose files are not there, each once; an oracle reads the same files."""
    names = dict.fromkeys(TaskName.parse(task).data for task in tasks)
    whole = lambda place, name: all((place / f"{name}{part}.npz").exists() for part in ("", "-val"))
    return [name for name in names if not any(whole(place, name) for place in folders(folder))]


def how(task: TaskName) -> str:
    return "generate" if task.family in MAKERS else "fetch"


def provide(tasks: Iterable[TaskName], folder: Path | None, episodes: int | None) -> dict[str, str]:
    """Make or fetch them; what could not be had, with the reason."""
    refused = {}
    for task in tasks:
        try:
            _provide(task, folder, episodes)
        except MvlError as error:
            refused[str(task)] = str(error)
    return refused


def _provide(task: TaskName, folder: Path | None, episodes: int | None) -> None:
    with ExitStack() as bars:
        bar = lambda title: bars.enter_context(counting(title))
        if task.family in MAKERS:
            generate(task, folder or default_folder(), episodes=episodes, report=bar(f"generating {task}"))
        elif task.subtasks:
            pull_by_minari(task, folder or default_folder())
        else:
            pull(task, folder or folders()[0], sources(), lambda name: bar(f"fetching {name}"))
