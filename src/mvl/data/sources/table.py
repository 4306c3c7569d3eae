"""CSV files, whose first line names the columns: one episode each, or several if a column tells them apart."""

import csv
import re
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mvl.data.imports.clock import UNITS
from mvl.data.signals import Signals
from mvl.data.sources.describing import Head, first_signals, parse_head
from mvl.data.sources.episodes import ColumnNames, RawEpisode, split_episodes
from mvl.data.sources.reading import SILENT, Listener, files_in, unchanged
from mvl.errors import DataError

ENDINGS = (".csv", ".tsv")
SEPARATORS = (",", ";", "\t")
BLOCK = 10_000
"""Rows that are converted to numbers together."""
WORDS = {"true": 1.0, "false": 0.0}

Row = tuple[int, list[str]]
"""Number of a line, and its cells."""


class Table(NamedTuple):
    """An open CSV file."""

    path: Path
    heads: list[Head]
    """Names and units of the columns."""
    rows: Iterator[Row]
    comma: bool
    """Whether numbers have a decimal comma."""

    @property
    def names(self) -> list[str]:
        return [head.name for head in self.heads]

    @property
    def units(self) -> dict[str, str]:
        return {head.name: head.unit for head in self.heads if head.unit}


def defaults(path: Path) -> ColumnNames:
    """None: a table has no standard names."""
    return ColumnNames()


def episodes(path: Path, names: ColumnNames, listener: Listener = SILENT) -> Iterator[RawEpisode]:
    """Episodes in the order of the file names, and of the rows in a file."""
    files = files_in(path, *ENDINGS)
    with unchanged(*files):
        for done, file in enumerate(files):
            listener.progress(done, len(files))
            with opened(file) as table:
                found = columns(table, names.needed(str(file), table.names), names.episode)
                whole = RawEpisode(str(file), _in_seconds(found, names.time, table.units.get(names.time, "")))
            yield from split_episodes(whole, names) if names.episode or names.ends else [whole]


def _in_seconds(found: dict[str, np.ndarray], time: str, unit: str) -> dict[str, np.ndarray]:
    """The columns with time stamps in seconds if their head has a unit of time."""
    return {**found, time: found[time] * UNITS[unit]} if unit in UNITS else found


def source_signals(path: Path, names: ColumnNames) -> Signals:
    """Names and units by the first line."""
    file = files_in(path, *ENDINGS)[0]
    with opened(file) as table:
        empty = RawEpisode(str(file), {name: np.empty(0) for name in table.names})
        return first_signals(iter([empty]), names, units=table.units)


@contextmanager
def opened(path: Path) -> Iterator[Table]:
    """Open a CSV file; its separator is the one that its first line has most of."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            plain = re.sub(r'"[^"]*"', "", first)
            separator = max(SEPARATORS, key=plain.count)
            reader = csv.reader(chain([first], file), delimiter=separator, strict=True)
            heads = _heads(path, next(reader, []))
            yield Table(path, heads, _rows(path, reader, len(heads)), separator != ",")
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise DataError(f"{path}: not a readable CSV file in UTF-8 ({error}).") from None


def _heads(path: Path, cells: list[str]) -> list[Head]:
    """Names and units of the columns; the whole head is the name where two would have the same name without their units."""
    if not cells or len(set(cells)) != len(cells):
        raise DataError(f"{path}: the first line must name every column, each once.")
    parsed = [parse_head(cell) for cell in cells]
    names = [head.name for head in parsed]
    return [head if names.count(head.name) == 1 else Head(cell) for cell, head in zip(cells, parsed, strict=True)]


def _rows(path: Path, reader: Iterable[list[str]], width: int) -> Iterator[Row]:
    for cells in reader:
        line: int = reader.line_num  # type: ignore[attr-defined]
        if cells and len(cells) != width:
            raise DataError(f"{path}: line {line} has {len(cells)} values for {width} columns.")
        if cells:
            yield line, cells


def columns(table: Table, needed: Iterable[str], text: str = "") -> dict[str, np.ndarray]:
    """The needed columns as float64, one of them possibly as text."""
    places = {name: table.names.index(name) for name in needed}
    numbers = {name: array("d") for name in places if name != text}
    words: list[str] = []
    while block := list(islice(table.rows, BLOCK)):
        for name, values in numbers.items():
            values.extend(_numbers(table, name, places[name], block))
        words += [cells[places[text]] for _, cells in block] if text in places else []
    found = {name: np.frombuffer(values, np.float64) if values else np.empty(0) for name, values in numbers.items()}
    return {name: np.array(words) if name == text else found[name] for name in places}


def _numbers(table: Table, name: str, place: int, block: list[Row]) -> list[float]:
    """A column of a block of rows."""
    try:
        return [float(cells[place]) for _, cells in block]
    except ValueError:
        return [_number(table, name, line, cells[place].strip()) for line, cells in block]


def _number(table: Table, name: str, line: int, cell: str) -> float:
    """A number with a decimal point or comma, true or false; an error names the line."""
    if not cell:
        raise DataError(f"{table.path}: line {line}: {name} is empty; fill the cell, or leave that column or episode out.")
    try:
        return WORDS[cell.lower()] if cell.lower() in WORDS else float(cell.replace(",", ".") if table.comma else cell)
    except ValueError:
        raise DataError(f"{table.path}: line {line}: {name} is {cell[:40]!r}, which is no number.") from None
