"""Memory-mapped arrays, read in chunks, so that a file may be larger than memory."""

import math
import mmap
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

CHUNK = 2**25
"""Bytes read at a time."""
ALIGNED = 64
"""Alignment in bytes of arrays that JAX uses on a CPU without copying them."""


def file_of(array: np.ndarray) -> mmap.mmap | None:
    """The memory-mapped file that an array is a view of; None for an array in memory."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def release_pages(file: mmap.mmap | None) -> None:
    """Free the memory of pages that were read from the file; they are read again when they are next accessed."""
    if file is not None and hasattr(mmap, "MADV_DONTNEED"):
        file.madvise(mmap.MADV_DONTNEED)


def rows_per_chunk(array: np.ndarray) -> int:
    """How many rows of the array make about `CHUNK` bytes."""
    return max(1, CHUNK // max(1, array[:1].nbytes))


def chunks(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yields the array in chunks, each after the number of its first row; pages of a file are released after each chunk."""
    rows, file = rows_per_chunk(array), file_of(array)
    for first in range(0, len(array), rows):
        yield first, array[first : first + rows]
        release_pages(file)


def take(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows of these numbers (...), as an array (..., d).

    From a file they are read in file order, so that each page is read once, and in chunks, so that only a small part of
    the file is in memory at a time.
    """
    file = file_of(array)
    if file is None:
        in_memory: np.ndarray = array[rows]
        return in_memory
    numbers = rows.reshape(-1)
    order, step = np.argsort(numbers), rows_per_chunk(array)
    cuts = np.searchsorted(numbers, np.arange(0, len(array) + step, step), sorter=order)
    taken = _aligned_empty((len(numbers), *array.shape[1:]), array.dtype)
    for first, last in pairwise(cuts):
        if first < last:
            places = order[first:last]
            taken[places] = array[numbers[places]]
            release_pages(file)
    return taken.reshape(*rows.shape, *array.shape[1:])


def _aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialized array with the alignment at which JAX uses it without a copy."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNED, np.uint8)
    start = -memory.ctypes.data % ALIGNED
    return memory[start : start + size].view(dtype).reshape(shape)


def fits(needed: int, free: int | None) -> bool:
    """Whether data of this many bytes fits in half of the free memory; true if the free memory is unknown (None)."""
    return free is None or needed <= free // 2
