"""Pieces of a page. Texts are escaped here; what is markup already is told by its type."""

from collections.abc import Sequence
from html import escape


class Markup(str):
    """Text that is HTML, and safe."""


def html(piece: object) -> str:
    return piece if isinstance(piece, Markup) else escape(str(piece))


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1, total: bool = False) -> Markup:
    """A table in a box of its own that scrolls; the first cell of a row is its head, cells beyond `left` are numbers."""
    kind = lambda place: ' class="n"' if place >= left else ""
    head = "".join(f'<th scope="col"{kind(place)}>{html(text)}</th>' for place, text in enumerate(heads))
    lines = []
    for number, row in enumerate(rows):
        first, *rest = row
        cells = "".join(f"<td{kind(place)}>{html(cell)}</td>" for place, cell in enumerate(rest, 1))
        last = ' class="total"' if total and number == len(rows) - 1 else ""
        lines.append(f'<tr{last}><th scope="row"{kind(0)}>{html(first)}</th>{cells}</tr>')
    return Markup(
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0"><table><caption>{html(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def facts(pairs: Sequence[tuple[str, object]]) -> Markup:
    return Markup("<dl>" + "".join(f"<dt>{html(name)}</dt><dd>{html(text)}</dd>" for name, text in pairs) + "</dl>")


def paragraph(text: object, kind: str = "") -> Markup:
    return Markup(f'<p class="{kind}">{html(text)}</p>' if kind else f"<p>{html(text)}</p>")


def folded(title: str, inside: Markup) -> Markup:
    return Markup(f"<details><summary>{html(title)}</summary>{inside}</details>")
