"""The results pages show the tables that the commands wrote."""

import re
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[1] / "docs" / "results"
PAGES = "".join((RESULTS / name).read_text() for name in ("README.md", "studies.md"))
SHOWN = re.findall(r"<!-- from (\S+) -->\n(.*?)<!-- end -->", PAGES, re.S)


def table_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize(("name", "block"), SHOWN, ids=[name for name, _ in SHOWN])
def test_a_table_on_the_page_is_the_one_that_was_written(name, block):
    first = next(part for part in (RESULTS / name).read_text().split("\n\n") if part.startswith("|"))
    written, shown = table_lines(first), table_lines(block)
    assert len(shown) > 2
    assert shown == written  # whole: no row is left out


def test_the_page_has_no_table_of_results_of_its_own():
    """On the page that compares with the paper, whatever has an interval comes from a file."""
    rest = re.sub(r"<!-- from .*?<!-- end -->", "", (RESULTS / "README.md").read_text(), flags=re.S)
    assert not [line for line in table_lines(rest) if re.search(r"\d \[\d", line)]
