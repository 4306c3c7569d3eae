"""LeRobot datasets: `meta/info.json` and Parquet files under `data/`, rows marked by episode. Needs pyarrow."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.sources.episodes import ColumnNames, RawEpisode, missing_package
from mvl.errors import DataError

EPISODE = "episode_index"
DEFAULT = ColumnNames(observations=("observation.state",), actions=("action",), time="timestamp")
"""Standard column names of LeRobot."""


def episodes(path: Path, names: ColumnNames) -> Iterator[RawEpisode]:
    """Episodes in the order of the files; version 2 has one file per episode, version 3 many episodes in a file."""
    try:
        import pyarrow.parquet as parquet
        from pyarrow.lib import ArrowException
    except ImportError:
        raise missing_package("LeRobot", "pyarrow") from None
    try:
        json.loads((path / "meta" / "info.json").read_text())
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not a LeRobot dataset, its meta/info.json cannot be read ({error}).") from None
    files = sorted((path / "data").rglob("*.parquet"))
    if not files:
        raise DataError(f"{path}: has no Parquet files under data/.")
    for file in files:
        try:
            table = parquet.read_table(file)
        except (ArrowException, OSError) as error:
            raise DataError(f"{file}: not a readable Parquet file ({error}).") from None
        yield from _episodes(file, table)


def _episodes(file: Path, table: Any) -> Iterator[RawEpisode]:
    if EPISODE not in table.column_names:
        raise DataError(f"{file}: has no column {EPISODE}; it has {', '.join(table.column_names)}.")
    numbers = np.asarray(table.column(EPISODE))
    ends = np.flatnonzero(np.append(np.diff(numbers) != 0, True)) + 1
    for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        rows = table.slice(int(start), int(end - start))
        columns = {name: _column(rows.column(name)) for name in rows.column_names}
        yield RawEpisode(f"{file}, episode {numbers[start]}", columns)


def _column(column: Any) -> np.ndarray:
    """A column as an array; lists of different lengths stay objects, which raise an error only if the column is used."""
    values = column.to_pylist()
    try:
        return np.array(values)
    except ValueError:
        ragged = np.empty(len(values), object)
        ragged[:] = values
        return ragged
