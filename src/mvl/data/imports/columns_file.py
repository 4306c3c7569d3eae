"""Gathers columns of episodes on disk, one episode after another, and writes them to `.npz` files in a fixed amount of memory."""

import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from mvl.data.memory_map import CHUNK

Change = Callable[[np.ndarray], np.ndarray]
"""What is done to each row of a column: (rows, d) -> (rows, e)."""


class Column:
    """Rows of one column in a file of raw numbers."""

    def __init__(self, file: IO[bytes], first: np.ndarray) -> None:
        self.file, self.dtype, self.width = file, first.dtype, first.shape[1]

    def append(self, rows: np.ndarray) -> None:
        self.file.write(np.ascontiguousarray(rows, self.dtype).data)

    def rows(self, first: int, last: int) -> Iterator[np.ndarray]:
        """Rows of these numbers, in chunks."""
        step = max(1, CHUNK // (self.width * self.dtype.itemsize))
        self.file.seek(first * self.width * self.dtype.itemsize)
        for start in range(first, last, step):
            count = min(step, last - start) * self.width
            yield np.frombuffer(self.file.read(count * self.dtype.itemsize), self.dtype).reshape(-1, self.width)


class Columns(ExitStack):
    """Columns of episodes, gathered in temporary files of a folder until the block ends.

    `append` adds an episode; after the last one, `save` writes some of the episodes to an `.npz` file.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.lengths: list[int] = []
        self.columns: dict[str, Column] = {}

    def append(self, episode: Mapping[str, np.ndarray]) -> None:
        """Add an episode: arrays (rows, d) by column, equally long and with the dimensions of the first episode."""
        for name, rows in episode.items():
            if name not in self.columns:
                file = self.enter_context(tempfile.TemporaryFile(dir=self.folder, buffering=2**20))  # noqa: SIM115 (closed with the block)
                self.columns[name] = Column(file, rows)
            self.columns[name].append(rows)
        self.lengths.append(len(next(iter(episode.values()))))

    def save(self, path: Path, chosen: np.ndarray, changes: Mapping[str, Change] | None = None, **extra: np.ndarray) -> None:
        """Write the episodes that `chosen` (episodes,) is true for, with `terminals` and `extra` arrays; not compressed."""
        lengths = np.array(self.lengths)
        terminals = np.zeros(lengths[chosen].sum(), bool)
        terminals[np.cumsum(lengths[chosen]) - 1] = True
        with zipfile.ZipFile(path, "w") as archive:
            for name, column in self.columns.items():
                change = (changes or {}).get(name, lambda rows: rows)
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    _write(member, column, runs(lengths, chosen), change)
            for name, array in {"terminals": terminals, **extra}.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    npy.write_array(member, array, allow_pickle=False)


def _write(member: IO[bytes], column: Column, stretches: list[tuple[int, int]], change: Change) -> None:
    """Write the changed rows of these stretches as an `.npy` file."""
    sample = change(np.zeros((1, column.width), column.dtype))
    shape = sum(last - first for first, last in stretches), *sample.shape[1:]
    npy.write_array_header_1_0(member, {"descr": npy.dtype_to_descr(sample.dtype), "fortran_order": False, "shape": shape})
    for first, last in stretches:
        for rows in column.rows(first, last):
            member.write(np.ascontiguousarray(change(rows), sample.dtype).data)


def runs(lengths: np.ndarray, chosen: np.ndarray) -> list[tuple[int, int]]:
    """First row and row after the last of each unbroken series of chosen episodes."""
    ends = np.cumsum(lengths)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
    rows = np.concatenate([[0], ends])[edges].tolist()
    return list(zip(rows[::2], rows[1::2], strict=True))
