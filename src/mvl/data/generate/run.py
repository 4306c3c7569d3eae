"""Generate a dataset: episodes over all cores, each from its own seed, written whole."""

import multiprocessing
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.files import atomic
from mvl.data.generate import manipulation, pointmaze, powderworld
from mvl.data.names import TaskName, task_names
from mvl.errors import MvlError, UsageError

Report = Callable[[int, int], None]
"""Called with episodes done and episodes in all."""

MAKERS = {
    "pointmaze": pointmaze,
    "cube": manipulation,
    "scene": manipulation,
    "puzzle": manipulation,
    "powderworld": powderworld,
}


def generate(
    task: TaskName,
    folder: Path,
    *,
    seed: int = 0,
    workers: int | None = None,
    episodes: int | None = None,
    overwrite: bool = False,
    report: Report = lambda done, total: None,
) -> tuple[Path, Path]:
    """Make the training and validation files of a task; the same seed gives the same bytes on any number of cores."""
    task = task.data  # an oracle reads the same files
    if task.family not in MAKERS:
        able = [name for name, known in task_names().items() if known.family in MAKERS and not known.oracle]
        raise UsageError(f"{task} cannot be generated; these can: {', '.join(able)}.")
    size = MAKERS[task.family].size(task)
    train = episodes or size.episodes
    held_out = max(1, episodes // 10) if episodes else size.validation_episodes
    paths = folder / f"{task}.npz", folder / f"{task}-val.npz"
    for path in paths:
        if path.exists() and not overwrite:
            raise MvlError(f"{path} exists already; give --overwrite to replace it.")

    seeds = np.random.SeedSequence(seed).generate_state(train + held_out)
    made = []
    for rows in _episodes(task, [int(value) for value in seeds], workers):
        made.append(rows)
        report(len(made), train + held_out)
    for path, part in zip(paths, (made[:train], made[train:]), strict=True):
        columns: dict[str, Any] = {key: np.concatenate([rows[key] for rows in part]) for key in part[0]}
        with atomic(path) as partial:
            np.savez_compressed(partial, **columns)
    return paths


def _episodes(task: TaskName, seeds: list[int], workers: int | None) -> Iterator[dict[str, np.ndarray]]:
    """All episodes, in the order of their seeds."""
    context = multiprocessing.get_context("spawn")
    with scratch_folder() as scratch, context.Pool(workers, _start, (task, scratch)) as pool:
        yield from pool.imap(_episode, seeds, chunksize=4)


@contextmanager
def scratch_folder() -> Iterator[str]:
    """A folder for the temporary model files that environments leave behind."""
    folder = tempfile.mkdtemp(prefix="mvl-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_maker: Any


def _start(task: TaskName, scratch: str) -> None:
    global _maker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the pool
    tempfile.tempdir = scratch
    _maker = MAKERS[task.family].Maker(task)


def _episode(seed: int) -> dict[str, np.ndarray]:
    return _maker.episode(seed)
