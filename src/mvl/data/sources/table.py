"""Folders of CSV files: one file is one episode, its first line names the columns."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mvl.data.sources.episodes import ColumnNames, RawEpisode
from mvl.errors import DataError


def episodes(path: Path, names: ColumnNames) -> Iterator[RawEpisode]:
    """Episodes in the order of the file names."""
    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    for file in files:
        yield RawEpisode(str(file), _columns(file))


def _columns(path: Path) -> dict[str, np.ndarray]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: not a readable CSV file ({error}).") from None
    if not rows or len(set(rows[0])) != len(rows[0]):
        raise DataError(f"{path}: the first line must name every column, each once.")
    head, body = rows[0], [row for row in rows[1:] if row]
    for number, row in enumerate(body, start=2):
        if len(row) != len(head):
            raise DataError(f"{path}: line {number} has {len(row)} values for {len(head)} columns.")
    return {name: _column(path, name, [row[i] for row in body]) for i, name in enumerate(head)}


def _column(path: Path, name: str, words: list[str]) -> np.ndarray:
    """A column as numbers; one with text stays text, which raises an error only if the column is used."""
    try:
        return np.array(words, dtype=float)
    except ValueError:
        return np.array(words)
