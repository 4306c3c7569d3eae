"""Elements of an HTML page. All text is escaped here, except text of type `Markup`."""

from collections.abc import Sequence
from html import escape


class Markup(str):
    """A string that is HTML already and must not be escaped."""


def html(piece: object) -> str:
    return piece if isinstance(piece, Markup) else escape(str(piece))


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1, total: bool = False) -> Markup:
    """A table in a box that scrolls; the first cell of a row is its header, columns from `left` on are right-aligned numbers.

    With `total`, the last row is set apart as a total.
    """
    classes = ["" if column < left else ' class="n"' for column in range(len(heads))]
    head = "".join(f'<th scope="col"{kind}>{html(text)}</th>' for kind, text in zip(classes, heads, strict=True))
    lines = []
    for number, row in enumerate(rows):
        first, *rest = row
        cells = "".join(f"<td{kind}>{html(cell)}</td>" for kind, cell in zip(classes[1:], rest, strict=True))
        last = ' class="total"' if total and number == len(rows) - 1 else ""
        lines.append(f'<tr{last}><th scope="row"{classes[0]}>{html(first)}</th>{cells}</tr>')
    return Markup(
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0"><table><caption>{html(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def facts(pairs: Sequence[tuple[str, object]]) -> Markup:
    """A list of names and what they are."""
    return Markup("<dl>" + "".join(f"<dt>{html(name)}</dt><dd>{html(text)}</dd>" for name, text in pairs) + "</dl>")


def paragraph(text: object, kind: str = "") -> Markup:
    return Markup(f'<p class="{kind}">{html(text)}</p>' if kind else f"<p>{html(text)}</p>")


def collapsible(title: str, inside: Markup) -> Markup:
    """A part of the page that is hidden until its title is clicked."""
    return Markup(f"<details><summary>{html(title)}</summary>{inside}</details>")
