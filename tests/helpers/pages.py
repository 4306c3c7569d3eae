"""Pages of the documentation, taken apart: prose, code blocks, links."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*) -->\n)?^```(?P<language>\w*)(?: title=\"(?P<file>[^\"]+)\")?\n(?P<code>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A code block: its language, the file that it is to be saved as, and the note in the comment above it."""

    language: str
    code: str
    file: str
    note: str


def blocks(page: Path) -> list[Block]:
    """The code blocks of a page in their order."""
    found = BLOCK.finditer(page.read_text())
    return [Block(one["language"], one["code"], one["file"] or "", one["note"] or "") for one in found]


def prose(text: str) -> str:
    """The sentences of a page: without code, tables, headings, pictures, comments and list marks."""
    text = re.sub(r"<!--.*?-->|```.*?```", "", text, flags=re.S)
    lines = [line for line in text.splitlines() if not re.match(r"\s*(\||#|!\[|\* \*|    )", line)]
    lines = [re.sub(r"^\s*([-*]|\d+\.) ", "\n", line) for line in lines]
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", "\n".join(lines))


def words_per_sentence(text: str) -> float:
    """Mean number of words of a sentence."""
    sentences = [one.split() for one in re.split(r"(?<=[.!?])\s+|\n\s*\n", prose(text)) if len(one.split()) > 2]
    return sum(map(len, sentences)) / max(1, len(sentences))


def local_links(page: Path) -> list[tuple[str, str]]:
    """Relative targets of a page's links and pictures, each as (path, anchor)."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    return [link.partition("#")[::2] for link in found if not re.match(r"[a-z]+:", link)]


def page_note(page: Path) -> str:
    """The note below a page's title, for all blocks that have none."""
    found = re.search(r"^<!-- blocks: ([^\n]*) -->$", page.read_text(), re.M)
    return found[1] if found else ""
