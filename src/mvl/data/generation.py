"""Generates datasets: episodes in parallel on all cores, each from its own seed, kept on disk until all are done."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np

from mvl.checks import COUNT, SEED
from mvl.data.episodes import Generator, Size
from mvl.data.pairs import Pair
from mvl.data.raw import RawFolder
from mvl.files import atomic, scratch_folder
from mvl.processes import Worker

Report = Callable[[int, int], None]
"""Progress callback: called with the episodes done and the episodes in total."""


def generate(
    name: str,
    generator: Callable[[], Generator],
    size: Size,
    folder: Path,
    *,
    seed: int = 0,
    workers: int | None = None,
    episodes: int | None = None,
    overwrite: bool = False,
    raw: RawFolder | None = None,
    report: Report = lambda done, total: None,
) -> tuple[Path, Path]:
    """Generate the training and validation file of a dataset; the same seed gives the same bytes on any number of cores.

    Episodes that were finished before an interruption are kept; the same call continues with the missing ones. The training
    episodes are also saved in the folder `raw`.
    """
    COUNT.check(workers=workers, episodes=episodes)
    SEED.check(seed=seed)
    train = episodes or size.episodes
    held_out = max(1, episodes // 10) if episodes else size.validation_episodes
    work_folder = folder / f".{name}.made"
    pair = Pair(
        (folder / f"{name}.npz", folder / f"{name}-val.npz"),
        work_folder,
        {"task": name, "seed": seed, "episodes": [train, held_out]},
        overwrite,
        "give --overwrite to mvl data generate to replace it, or name another folder with --data.",
    )
    pair.check()
    if raw:
        raw.check()
    pair.begin()
    if pair.complete():
        pair.clear()
        return pair.paths
    files = [work_folder / f"{index}.npz" for index in range(train + held_out)]
    seeds = np.random.SeedSequence(seed).generate_state(len(files))
    _generate_missing(generator, [(file, int(value)) for file, value in zip(files, seeds, strict=True)], workers, report)
    if raw:
        raw.write(files[:train])
    pair.publish(lambda partial: join(files[:train], partial), lambda partial: join(files[train:], partial))
    return pair.paths


def _generate_missing(
    generator: Callable[[], Generator], wanted: list[tuple[Path, int]], workers: int | None, report: Report
) -> None:
    """Generate the episodes whose files do not exist, in worker processes; `wanted` has the file and the seed of each."""
    missing = [(file, seed) for file, seed in wanted if not file.exists()]
    done = len(wanted) - len(missing)
    report(done, len(wanted))
    if not missing:
        return
    with scratch_folder() as scratch:
        logs = [Path(scratch) / f"worker{index}.log" for index in range(min(workers or os.cpu_count() or 1, len(missing)))]
        pool = [Worker(EpisodeWriter, generator, scratch, log=log) for log in logs]
        try:
            for count, _ in enumerate(_write_episodes(missing, pool), start=done + 1):
                report(count, len(wanted))
        finally:
            for worker in pool:
                worker.close(patience=0)


def _write_episodes(missing: list[tuple[Path, int]], pool: list[Worker]) -> Iterator[None]:
    """Let the workers write these episodes; yields after each."""
    waiting, busy = iter(missing), dict[Any, Worker]()
    free = pool
    while True:
        for worker, wanted in zip(free, waiting, strict=False):
            worker.ask(wanted, new_round=True)
            busy[worker.pipe] = worker
        if not busy:
            return
        free = [busy.pop(pipe) for pipe in wait(list(busy))]
        for worker in free:
            worker.answer()
            yield


class EpisodeWriter:
    """Runs in a worker process: generates episodes, each into its own file."""

    def __init__(self, generator: Callable[[], Generator], scratch: str) -> None:
        tempfile.tempdir = scratch
        self.generator = generator()

    def __call__(self, wanted: tuple[Path, int]) -> None:
        file, seed = wanted
        columns: dict[str, Any] = self.generator.episode(seed)
        with atomic(file) as partial:
            np.savez_compressed(partial, **columns)


def join(episodes: list[Path], path: Path) -> None:
    """Concatenate the arrays of many archives into one archive, without ever holding a whole array in memory."""
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
