"""A table that prints itself as aligned text, Markdown, CSV and LaTeX; `mvl.plots.table` draws one."""

import csv
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mvl.files import atomic

LATEX: dict[str, str | int | None] = {"_": r"\_", "%": r"\%", "±": r"$\pm$", "<": "$<$", ">": "$>$"}


@dataclass(frozen=True)
class Marked:
    """A value that is highlighted: bold, or italic if it is not `strong`; in text `*` or `+` behind it."""

    value: str
    strong: bool

    def __str__(self) -> str:
        return f"{self.value} {'*' if self.strong else '+'}"

    def markdown(self, escaped: str) -> str:
        return f"**{escaped}**" if self.strong else f"*{escaped}*"

    def latex(self, escaped: str) -> str:
        return rf"\text{'bf' if self.strong else 'it'}{{{escaped}}}"


@dataclass(frozen=True)
class Table:
    """Rows below named columns, with a title and notes that explain them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    notes: Sequence[str] = ()
    """Paragraphs that say what the columns mean: below the text, above the Markdown."""
    labels: int = field(default=0, kw_only=True)
    """Leading columns that have no heading in the text; there, a repeated value of the first one is left out."""
    below: "Sequence[Table | str]" = field(default=(), kw_only=True)
    """Further tables and paragraphs after this one."""
    as_csv: "Table | None" = field(default=None, kw_only=True)
    """The table to write as CSV instead of this one, with more digits and columns."""
    as_latex: "Table | None" = field(default=None, kw_only=True)
    """The table to write as LaTeX instead of this one, in the shape of the paper's."""
    if_empty: str = field(default="", kw_only=True)
    """The text of a table without rows."""

    def text(self) -> str:
        """Aligned columns for a terminal."""
        if not self.rows and self.if_empty:
            return self.if_empty
        first = [row[0] for row in self.rows]
        repeated = [self.labels and row == before for row, before in zip(first, [None, *first], strict=False)]
        rows = [("" if again else row[0], *row[1:]) for row, again in zip(self.rows, repeated, strict=True)]
        heading = [*[""] * self.labels, *self.columns[self.labels :]]
        above = [self.title] if self.title else []
        below = [part.text() if isinstance(part, Table) else part for part in self.below]
        return "\n\n".join(["\n".join([*above, *_aligned([heading, *rows])]), *(_filled(note) for note in self.notes), *below])

    def markdown(self) -> str:
        """A table as GitHub shows it, with a heading if it has a title."""
        above = [f"## {self.title}"] if self.title else []
        heading = "|" + "".join(f" {name} |" if name else " |" for name in self.columns)
        rows = [[_markdown(value) for value in row] for row in self.rows]
        lines = [heading, "|" + "---|" * len(self.columns), *(f"| {' | '.join(row)} |" for row in rows)]
        below = [part.markdown().rstrip("\n") if isinstance(part, Table) else part for part in self.below]
        return "\n\n".join([*above, *self.notes, "\n".join(lines), *below]) + "\n"

    def csv(self) -> str:
        """Lines of comma-separated values, the columns' names first."""
        table, text = self.as_csv or self, io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([table.columns, *table.rows])
        return text.getvalue()

    def latex(self) -> str:
        """A tabular, with the notes as comments below it."""
        table = self.as_latex or self
        columns, *rows = (" & ".join(map(_latex, row)) + r" \\" for row in (table.columns, *table.rows))
        head = [rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}", r"\hline", columns, r"\hline"]
        notes = [f"% {note}".replace("±", "+-") for note in table.notes]
        return "\n".join([*head, *rows, r"\hline", r"\end{tabular}", *notes]) + "\n"

    def write(self, folder: Path, name: str, endings: Sequence[str] = ("md", "csv", "tex")) -> list[Path]:
        """Write NAME.md, NAME.csv and NAME.tex, or some of them, over existing files; returns their paths."""
        forms = {"md": self.markdown, "csv": self.csv, "tex": self.latex}
        paths = [folder / f"{name}.{ending}" for ending in endings]
        for path, ending in zip(paths, endings, strict=True):
            with atomic(path) as partial:
                partial.write_text(forms[ending]())
        return paths


def _markdown(value: Any) -> str:
    if isinstance(value, Marked):
        return value.markdown(_markdown(value.value))
    return str(value).replace("<", r"\<").replace(">", r"\>")


def _latex(value: Any) -> str:
    if isinstance(value, Marked):
        return value.latex(_latex(value.value))
    return str(value).translate(str.maketrans(LATEX))


def _aligned(rows: Sequence[Sequence[Any]]) -> list[str]:
    """A line for each row, columns padded to the width of their longest value."""
    texts = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return ["  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip() for row in texts]


def _filled(paragraph: str) -> str:
    return textwrap.fill(paragraph, 100)
