"""Parquet files, read by column and in batches. Needs pyarrow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.sources.parquet_footer import chunks
from mvl.data.sources.reading import Claims, missing_package
from mvl.errors import DataError

BATCH = 2**16
"""Rows that are read at a time."""
BUFFER = 2**20
"""Bytes that are read at a time; without a limit, pyarrow holds whole columns of a file in memory."""
WIDEST = 8
"""Bytes of the largest number."""
POINTER = b"version https://git-lfs"
"""Beginning of the text file that stands for a file that Git LFS has not fetched."""


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a Parquet file."""
    try:
        import pyarrow.parquet as parquet
        from pyarrow.lib import ArrowException
    except ImportError:
        raise missing_package("Parquet", "pyarrow") from None
    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER) as file:
            yield file
    except (ArrowException, OSError, ValueError, KeyError, TypeError, IndexError, OverflowError, MemoryError) as error:
        if _begins_with(path, POINTER):
            raise DataError(f"{path}: only stands for a file that was not fetched; fetch it with: git lfs pull") from None
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: not a readable Parquet file ({reason}).") from None


def _begins_with(path: Path, start: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return False


def rows_in(path: Path) -> int:
    """Number of rows that a file says it has."""
    with opened(path) as file:
        return int(file.metadata.num_rows)


def batches(path: Path, file: Any, columns: list[str]) -> Iterator[dict[str, np.ndarray]]:
    """Columns of an open file, some rows at a time; raises before reading if they claim far more bytes than the file has."""
    check(path, columns)
    for batch in file.iter_batches(BATCH, columns=columns):
        yield {name: as_array(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}


def check(path: Path, columns: list[str] | None = None) -> None:
    """Raise if the columns (all, if none are named) claim far more bytes than the file has."""
    claims = Claims(path)
    for chunk in chunks(path):
        if columns is None or any(f"{chunk.column}.".startswith(f"{name}.") for name in columns):
            claims.add(max(WIDEST * chunk.values, chunk.unpacked, 0))


def as_array(column: Any) -> np.ndarray:
    """An Arrow array as (rows, ...); objects if its lists differ in length or it has no numbers."""
    from pyarrow import compute, types

    kind = column.type
    if hasattr(column, "storage"):
        return as_array(column.storage)
    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        lengths = compute.list_value_length(column).to_numpy(zero_copy_only=False)
        if len(column) and not column.null_count and (lengths == lengths[0]).all():
            inner = as_array(column.flatten())
            return inner.reshape(len(column), int(lengths[0]), *inner.shape[1:])
    return np.empty(len(column), object)
