"""What the README shows works."""

import json
import re
from contextlib import suppress
from pathlib import Path

from PIL import Image

from mvl.bench.picture import table
from mvl.cli import COMMANDS
from mvl.errors import UsageError
from mvl.recipes.families import FAMILIES, RECIPES
from mvl.recipes.presets import named_recipe
from mvl.registry import names

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
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


def test_it_fits_into_120_lines():
    assert len(TEXT.splitlines()) <= 120


def test_its_moving_picture_is_small_and_moves():
    picture = ROOT / re.search(r"!\[[^]]*\]\(([^)]+\.gif)\)", TEXT)[1]
    assert picture.stat().st_size < 300_000
    with Image.open(picture) as frames:
        assert frames.n_frames > 10


def test_its_figures_of_speed_are_those_of_the_benchmark():
    assert table(RESULTS / "bench.json") in (ROOT / "docs" / "speed.md").read_text()
    bars = {bar["name"]: bar["figure"] for bar in json.loads((RESULTS / "bench.json").read_text())["bars"]}
    shown = {
        "plain GCIVL step, 1024 x 512, share of matrix products, one core": "takes {:.2f} of the machine's own matrix rate",
        "mollified step against a plain one, cpu preset": "a mollified step takes {:.2f}x a plain one",
        "evaluation, 5 tasks x 50 episodes, against one environment and step at a time": "evaluation is {:.2f}x as fast",
    }
    for name, sentence in shown.items():
        assert sentence.format(bars[name]) in TEXT


def rows(path: str) -> dict[tuple[str, str], list[str]]:
    """The further cells of a table that a command wrote, by its first two."""
    lines = [line.strip("| ").split(" | ") for line in (RESULTS / path).read_text().splitlines() if line.startswith("| ")]
    return {(first, second): rest for first, second, *rest in lines}


def test_its_successes_are_those_of_the_results():
    plans = rows("planning/arrive-plans.md")
    mazes = re.findall(r"^\| (pointmaze-\w+) \| (.*?) \| (.*?) \| (.*?) \|$", TEXT, re.M)
    assert len(mazes) == 3
    for maze, none, slope, planned in mazes:
        (plain, *_), (with_slope, with_plan, *_) = (plans[f"{maze}-navigate-v0", name] for name in ("gcivl", "gcivl-slope"))
        assert (none, slope, planned) == (plain, with_slope, with_plan)
        assert plans[f"{maze}-navigate-v0", "gcivl-slope"][-1].strip(" |") == "4"
    table1 = rows("pointmaze-medium/table1.md")
    mean = {name: table1["pointmaze-medium", name][0].split()[0] for name in ("VIB", "VIB-MVL", "DUAL", "DUAL-MVL")}
    claim = f"lifts VIB from {mean['VIB']} to {mean['VIB-MVL']} and DUAL from {mean['DUAL']} to {mean['DUAL-MVL']}"
    assert claim in TEXT


def test_it_counts_what_there_is():
    words = {4: "four", 7: "seven", 10: "ten"}
    counts = [words[len(found)] for found in (FAMILIES, names("representation"), names("regularizer"))]
    assert "{} families, {} representations and {} regularizers: ".format(*counts) in TEXT
    assert f": {sum(map(can_be_built, RECIPES))} compositions" in TEXT


def can_be_built(name: str) -> bool:
    with suppress(UsageError):
        named_recipe(name, "laptop")
        return True
    return False
