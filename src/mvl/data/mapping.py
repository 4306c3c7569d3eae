"""Arrays that lie in files: read where they are needed, never whole in memory."""

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np

CHUNK = 2**25
"""Bytes looked at together."""


def chunks(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The array piece by piece, each with its first row; what was read of a file is let go again."""
    rows = max(1, CHUNK // max(1, array[:1].nbytes))
    for first in range(0, len(array), rows):
        yield first, array[first : first + rows]
        release(array)


def mapping_of(array: Any) -> mmap.mmap | None:
    """The mapped file an array looks into, if it does."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) else None


def release(array: np.ndarray) -> None:
    """Give back the memory that holds what was read of the array's file; the system may keep its own copy."""
    mapping = mapping_of(array)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def read_in_any_order(array: np.ndarray) -> None:
    """Tell the system that rows will be read here and there, so that it does not fetch their neighbors too."""
    mapping = mapping_of(array)
    if mapping is not None and hasattr(mmap, "MADV_RANDOM"):
        mapping.madvise(mmap.MADV_RANDOM)


def fits(needed: int, room: int | None) -> bool:
    """Whether data may lie in memory: half of it is left for everything else; so it is assumed where nothing is known."""
    return room is None or needed <= room // 2
