"""Arrays that lie in files: read where they are needed, never whole in memory."""

import math
import mmap
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

CHUNK = 2**25
"""Bytes looked at together."""
ALIGNED = 64
"""Bytes that memory of a CPU device is aligned to."""


def file_of(array: np.ndarray) -> mmap.mmap | None:
    """The mapped file an array looks into, if it does."""
    looked_into: object = array
    while isinstance(looked_into, np.ndarray):
        looked_into = looked_into.base
    return looked_into if isinstance(looked_into, mmap.mmap) else None


def let_go(file: mmap.mmap | None) -> None:
    """What was read of the file need not stay in memory; it comes back when it is looked at again."""
    if file is not None and hasattr(mmap, "MADV_DONTNEED"):
        file.madvise(mmap.MADV_DONTNEED)


def rows_of_chunk(array: np.ndarray) -> int:
    return max(1, CHUNK // max(1, array[:1].nbytes))


def chunks(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The array piece by piece, each with its first row; what was read of a file is let go again."""
    rows, file = rows_of_chunk(array), file_of(array)
    for first in range(0, len(array), rows):
        yield first, array[first : first + rows]
        let_go(file)


def take(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows, (..., d), from here and there.

    Of a file they are taken in the order in which they lie there, so that a page that comes in serves all its rows, and
    piece by piece, so that little of the file is in memory at a time.
    """
    file = file_of(array)
    if file is None:
        return array[rows]
    asked = rows.reshape(-1)
    order, step = np.argsort(asked), rows_of_chunk(array)
    cuts = np.searchsorted(asked, np.arange(0, len(array) + step, step), sorter=order)
    taken = _room((len(asked), *array.shape[1:]), array.dtype)
    for first, last in pairwise(cuts):
        if first < last:
            here = order[first:last]
            taken[here] = array[asked[here]]
            let_go(file)
    return taken.reshape(*rows.shape, *array.shape[1:])


def _room(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array that begins where jax takes it for its own, without a copy."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNED, np.uint8)
    start = -memory.ctypes.data % ALIGNED
    return memory[start : start + size].view(dtype).reshape(shape)


def fits(needed: int, room: int | None) -> bool:
    """Whether data may lie in memory: half of it is left for everything else; so it is assumed where nothing is known."""
    return room is None or needed <= room // 2
