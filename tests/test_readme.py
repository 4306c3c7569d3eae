"""What the README shows works."""

import re
from pathlib import Path

from mvl.bench.picture import table
from mvl.cli import COMMANDS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.S)


def test_the_regularizer_alone_in_ten_lines(capsys):
    (block,) = [block for block in blocks("python") if "mvl.Field" in block]
    names: dict = {}
    exec(block, names)
    assert float(names["loss"]) > 0
    assert 0 < float(names["metrics"]["active"]) < 1
    assert capsys.readouterr().out
    assert len([line for line in block.splitlines() if line.strip()]) <= 10


def test_it_opens_with_exactly_two_commands():
    assert blocks("sh")[0].split("\n") == ["make demo", "make test", ""]


def test_every_command_it_shows_exists():
    shown = re.findall(r"^mvl (\w+)", "\n".join(blocks("sh")), re.M)
    assert shown
    assert set(shown) <= set(COMMANDS)


def test_every_picture_and_page_it_links_to_exists():
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    local = [link for link in links if not link.startswith("http")]
    assert local
    for link in local:
        assert (ROOT / link).exists(), link


def test_its_figures_are_those_of_the_benchmark():
    assert table(ROOT / "docs" / "results" / "bench.json") in TEXT
