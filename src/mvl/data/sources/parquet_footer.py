"""The footer of a Parquet file: how many numbers its columns say they have.

pyarrow's own functions for this end the process on some damaged files, so the footer (in Thrift's compact protocol) is read here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mvl.errors import DataError

MAGIC = b"PAR1"
ROW_GROUPS, COLUMNS, META = 4, 1, 3
PATH, VALUES, UNPACKED = 3, 5, 6
"""Numbers of fields: of the footer, of a row group, of a column, and of what is said about a column."""
TRUE, FALSE, BYTE, WHOLE, DOUBLE, BINARY, LISTS, STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 12
"""Types of the compact protocol; maps do not occur."""

LONGEST = 63
"""Bits of the largest number."""


class Chunk(NamedTuple):
    """What the footer says about a column in one group of rows."""

    column: str
    """Path in the schema, such as `action.list.element`."""
    values: int
    unpacked: int
    """Bytes without compression."""


def chunks(path: Path) -> Iterator[Chunk]:
    """All columns of all groups of rows."""
    try:
        footer = Reader(_footer(path)).struct()
        for group in footer.get(ROW_GROUPS, []):
            for column in group[COLUMNS]:
                meta = column[META]
                yield Chunk(".".join(part.decode() for part in meta[PATH]), meta[VALUES], meta[UNPACKED])
    except (IndexError, KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise DataError(f"{path}: not a readable Parquet file (its footer is damaged).") from None


def _footer(path: Path) -> bytes:
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != MAGIC or length > size - 8:
            raise ValueError("it has no footer")
        file.seek(size - 8 - length)
        return file.read(length)


class Reader:
    """Decodes values of the compact protocol one after another."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self) -> dict[int, Any]:
        """Values of a structure by the numbers of its fields."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._whole()
            fields[number] = head & 15 == TRUE if head & 15 in (TRUE, FALSE) else self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in WHOLE:
            return self._whole()
        if kind == BINARY:
            return self._take(self._natural())
        if kind in LISTS:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._natural()
            return [self._value(head & 15) for _ in range(count)]
        if kind == STRUCT:
            return self.struct()
        return self._take({TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8}[kind])

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self.data):
            raise IndexError("it is cut short")
        return self.data[self.at - count : self.at]

    def _natural(self) -> int:
        """A whole number, seven bits in a byte."""
        number, shift = 0, 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
            if shift > LONGEST:
                raise ValueError("a number is too long")
        return number | byte << shift

    def _whole(self) -> int:
        """A whole number with a sign, as its lowest bit."""
        number = self._natural()
        return number >> 1 ^ -(number & 1)
