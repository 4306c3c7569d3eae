"""The environments that can be built here, as a grid of stills."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from mvl.errors import MvlError
from mvl.evaluation.stills import Photographer
from mvl.files import scratch_folder
from mvl.machine import renderer
from mvl.plots import drawing
from mvl.processes import Worker
from mvl.tasks import Task, find_task, task_names

SIDE, COLUMNS = 2.0, 5
"""Width of a still, in inches, and number of stills in a row."""


def gallery(names: list[str], to: Path, report: Callable[[int, int], None] = lambda done, total: None) -> dict[str, str]:
    """Draw the first state of these tasks, by default one of every family; returns why others could not be drawn."""
    chosen = [find_task(name) for name in names] or one_per_family()
    pictures, left_out = _pictures(chosen, renderer(), report)
    if not pictures:
        raise MvlError(f"none of these tasks can be built here; {next(iter(left_out.values()))}")
    columns = min(COLUMNS, len(pictures))
    rows = -(-len(pictures) // columns)
    figure = Figure(figsize=(SIDE * columns, (SIDE + 0.25) * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes:
        ax.set_axis_off()
    for ax, (task, picture) in zip(axes, pictures.items(), strict=False):
        ax.imshow(picture)
        ax.set_title(task.world or task.label, fontsize=9)
    drawing.save(figure, to)
    return left_out


def one_per_family() -> list[Task]:
    """The first task of every family."""
    return list({name.partition("-")[0]: task for name, task in reversed(task_names().items())}.values())[::-1]


def _pictures(
    tasks: list[Task], backend: str, report: Callable[[int, int], None]
) -> tuple[dict[Task, np.ndarray], dict[str, str]]:
    """A picture of every task that can be built here, and the errors of the others."""
    pictures, left_out = dict[Task, np.ndarray](), dict[str, str]()
    with scratch_folder() as scratch:
        log, size = Path(scratch) / "worker.log", round(SIDE * drawing.DOTS_PER_INCH)
        worker = Worker(Photographer, size, scratch, log=log, environment={"MUJOCO_GL": backend})
        try:
            for number, task in enumerate(tasks):
                worker.ask(task.name, new_round=True)
                try:
                    pictures[task] = worker.answer()
                except MvlError as error:
                    left_out[task.name] = str(error)
                report(number + 1, len(tasks))
        finally:
            worker.close(patience=0)
    return pictures, left_out
