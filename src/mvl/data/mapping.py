"""Arrays that lie in files: read where they are needed, never whole in memory."""

import mmap
import os
from collections.abc import Iterator

import numpy as np

CHUNK = 2**25
"""Bytes looked at together."""


def file_of(array: np.ndarray) -> np.memmap | None:
    """The mapped file an array looks into, if it does."""
    looked_into: object = array
    while isinstance(looked_into, np.ndarray) and not isinstance(looked_into, np.memmap):
        looked_into = looked_into.base
    return looked_into if isinstance(looked_into, np.memmap) else None


def chunks(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The array piece by piece, each with its first row; what was read of a file is let go again."""
    rows = max(1, CHUNK // max(1, array[:1].nbytes))
    file = file_of(array)
    for first in range(0, len(array), rows):
        yield first, array[first : first + rows]
        if file is not None and isinstance(file.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            file.base.madvise(mmap.MADV_DONTNEED)


def take(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows, (..., d), from here and there.

    Of a file they are read, not looked up in the mapping: each look would keep up to two megabytes around it in memory.
    """
    file = file_of(array)
    if file is None or not hasattr(os, "pread"):
        return array[rows]
    width = array[:1].nbytes
    start = file.offset + _address(array) - _address(file)
    with open(str(file.filename), "rb") as opened:
        number = opened.fileno()
        parts = [os.pread(number, width, start + width * row) for row in rows.reshape(-1).tolist()]
    return np.frombuffer(b"".join(parts), array.dtype).reshape(*rows.shape, *array.shape[1:])


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def fits(needed: int, room: int | None) -> bool:
    """Whether data may lie in memory: half of it is left for everything else; so it is assumed where nothing is known."""
    return room is None or needed <= room // 2
