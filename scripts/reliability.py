"""Writes the tables of docs/reliability.md from the counts that scripts/soak.py and scripts/fuzz.py have written.

python scripts/soak.py --to docs/results/reliability/soak.json
python scripts/fuzz.py --to docs/results/reliability/fuzz.json
python scripts/reliability.py
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COUNTS = ROOT / "docs" / "results" / "reliability"
PAGE = ROOT / "docs" / "reliability.md"
HEADS = {
    "soak": {"case": "what was disturbed", "tried": "times", "kills": "kills", "failed": "failed"},
    "fuzz": {"target": "what was damaged", "accepted": "accepted", "refused": "refused in a sentence", "wrong": "anything else"},
}
"""Heads of the columns, by file and key."""


def table(name: str) -> str:
    """A table of counts with their sums."""
    heads, rows = HEADS[name], json.loads((COUNTS / f"{name}.json").read_text())
    first, *numbers = heads
    total: dict[str, Any] = {first: "together", **{key: sum(row[key] for row in rows) for key in numbers}}
    lines = [list(heads.values()), ["---", *["---:" for _ in numbers]]]
    lines += [[str(row[first]), *(f"{row[key]:,}" for key in numbers)] for row in [*rows, total]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page(text: str) -> str:
    """The page with its tables as the counts are."""
    shown = r"(<!-- from (\w+)\.json -->\n).*?(<!-- end -->)"
    return re.sub(shown, lambda found: found[1] + table(found[2]) + found[3], text, flags=re.S)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
