"""Generate a dataset: episodes over all cores, each from its own seed, kept on disk until the whole is there."""

import multiprocessing
import shutil
import signal
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.files import atomic
from mvl.data.generate import antmaze, manipulation, pointmaze, powderworld
from mvl.data.names import TaskName, task_names
from mvl.data.pairs import Pair
from mvl.errors import UsageError

Report = Callable[[int, int], None]
"""Called with episodes done and episodes in all."""

MAKERS: dict[str, Any] = {
    "pointmaze": pointmaze,
    "antmaze": antmaze,
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
    """Make the training and validation files of a task; the same seed gives the same bytes on any number of cores.

    What was made before an interruption is kept, and the same call goes on from there.
    """
    task = task.data  # an oracle reads the same files
    if task.family not in MAKERS:
        able = [name for name, known in task_names().items() if known.family in MAKERS and not known.oracle]
        raise UsageError(f"{task} cannot be generated; these can: {', '.join(able)}.")
    size = MAKERS[task.family].size(task)
    train = episodes or size.episodes
    held_out = max(1, episodes // 10) if episodes else size.validation_episodes
    made = folder / f".{task}.made"
    pair = Pair(
        (folder / f"{task}.npz", folder / f"{task}-val.npz"),
        made,
        {"task": str(task), "seed": seed, "episodes": [train, held_out]},
        overwrite,
        "give --overwrite to mvl data generate to replace it, or name another folder with --data.",
    )
    pair.begin()
    if pair.complete():
        pair.clear()
        return pair.paths
    files = [made / f"{index}.npz" for index in range(train + held_out)]
    seeds = np.random.SeedSequence(seed).generate_state(len(files))
    _make(task, [(file, int(value)) for file, value in zip(files, seeds, strict=True)], workers, report)
    pair.publish(lambda partial: join(files[:train], partial), lambda partial: join(files[train:], partial))
    return pair.paths


def _make(task: TaskName, wanted: list[tuple[Path, int]], workers: int | None, report: Report) -> None:
    """The episodes that are not there yet, shared out over processes."""
    missing = [(file, seed) for file, seed in wanted if not file.exists()]
    done = len(wanted) - len(missing)
    report(done, len(wanted))
    if not missing:
        return
    context = multiprocessing.get_context("spawn")
    with scratch_folder() as scratch, context.Pool(workers, _start, (task, scratch)) as pool:
        for count, _ in enumerate(pool.imap_unordered(_episode, missing), start=done + 1):
            report(count, len(wanted))


def join(episodes: list[Path], path: Path) -> None:
    """One archive of the arrays of many, end to end; no array is ever whole in memory."""
    with np.load(episodes[0]) as first:
        kinds = {key: (first[key].dtype, first[key].shape[1:]) for key in first.files}
        rows = sum(_rows(episode) for episode in episodes)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, (dtype, shape) in kinds.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (rows, *shape)}
                np.lib.format.write_array_header_1_0(member, header)
                for episode in episodes:
                    with np.load(episode) as arrays:
                        member.write(np.ascontiguousarray(arrays[key]).tobytes())


def _rows(episode: Path) -> int:
    with np.load(episode) as arrays:
        return len(arrays["terminals"])


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
    warnings.simplefilter("ignore")  # the packages' own, about displays and number types
    tempfile.tempdir = scratch
    _maker = MAKERS[task.family].Maker(task)


def _episode(wanted: tuple[Path, int]) -> None:
    file, seed = wanted
    columns: dict[str, Any] = _maker.episode(seed)
    with atomic(file) as partial:
        np.savez_compressed(partial, **columns)
