"""Every code block of the documentation is run as printed, at toy sizes, or says which test runs it, or why nothing does.

A comment above a block, or `blocks: ...` below the title for a whole page, says one of: `run by FILE`, `not run: REASON`, or
`toy: NAMES`, what a reader has at that point. Trainings are shortened: a thousandth of the printed steps.
"""

import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pages import DOCS, ROOT, Block, blocks, page_note
from probes import StandIn
from serving import with_graph
from untrained import MEDIUM, untrained_by_name

import mvl
from conftest import walk, write_npz
from mvl.cli import COMMANDS, main
from mvl.recipes.presets import Schedule
from mvl.recipes.recipe import Learning
from mvl.runs import training
from mvl.studies import outlook
from mvl.tasks import task_names

sys.path.append(str(ROOT / "scripts"))
import site_pages

EXEMPT = {"planning.md": "its runs are called RUN; tests/planning and tests/runs/test_planning.py try what it shows"}
PAGES = [page for page in [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"] if page.name not in EXEMPT and blocks(page)]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SHORT = {"steps": 20, "steps_per_dispatch": 10, "log_every": 10, "eval_every": 20, "save_every": 10, "eval_episodes": 1}
SHORT |= {"batch_size": 16, "plan_nodes": 50, "policy.widths": (8,)}
CODE = ("sh", "python")


def note_of(block: Block, page: Path) -> str:
    return block.note or page_note(page)


def runs_here(block: Block, page: Path) -> bool:
    return not note_of(block, page).startswith(("run by ", "not run: "))


def flags(settings: dict) -> list[str]:
    """Settings as words of a command."""
    words = [(f"--{name.replace('_', '-')}", value) for name, value in settings.items()]
    return [str(word) for flag, value in words for word in (flag, *(value if isinstance(value, tuple) else (value,)))]


def shortened(words: list[str]) -> list[str]:
    """A command at toy size."""
    if words[0] in ("sweep", "tune", "reproduce"):
        return [*words, "--dry-run"]
    if words[0] == "eval":
        return [*(re.sub(r"^20$", "1", word) for word in words), "--workers", "1"]  # episodes
    if words[:2] == ["data", "generate"]:
        return [*words, "--episodes", "4", "--workers", "1"]
    if words[0] == "train":
        given = {name: value for name, value in SHORT.items() if f"--{name.replace('_', '-')}" not in words}
        return [*words, "--workers", "1", *([] if "--resume" in words else flags(given))]
    return words


@dataclass
class Reader:
    """Someone who types what a page shows, in a folder of their own."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    names: dict = field(default_factory=dict)
    """Of the Python session that all blocks of a page share."""

    def has(self, names: str) -> None:
        """Make what a reader has at this point, where it does not exist yet."""
        for name in (one.strip() for one in names.split(";")):
            if not (self.folder / name).exists():
                HAS[name](self.folder)

    def read(self, block: Block) -> None:
        code = re.sub(r"(steps[ =]\d[\d_]*)(?:_000|000)\b", r"\1", block.code)
        if block.file:
            (self.folder / block.file).write_text(code)
        elif block.language == "python":
            exec(compile(code, "block", "exec"), self.names)
        elif block.language == "sh":
            for line in code.replace("\\\n", " ").splitlines():
                self.type(shlex.split(line, comments=True))

    def type(self, words: list[str]) -> None:
        if words[:1] == ["mvl"]:
            assert main(shortened(words[1:])) == 0, words
        elif words[:2] == ["python", f"{Path(words[-1]).stem}.py"]:
            runpy.run_path(words[1], run_name="__main__")
        elif words == ["pip", "install", "-e", "."]:
            self.install()
        elif words[:2] == ["pip", "install"]:
            check_extras(words[-1])
        else:
            assert not words, f"the test does not know how to run {words}"

    def install(self) -> None:
        """What pip would leave of the package that is described here."""
        described = tomllib.loads((self.folder / "pyproject.toml").read_text())["project"]
        info = self.folder / f"{described['name']}-{described['version']}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: {described['version']}\n")
        groups = described["entry-points"].items()
        lines = [f"[{group}]\n" + "".join(f"{name} = {path}\n" for name, path in entries.items()) for group, entries in groups]
        (info / "entry_points.txt").write_text("".join(lines))
        self.monkeypatch.syspath_prepend(str(self.folder))
        task_names.cache_clear()


def check_extras(requirement: str) -> None:
    name, _, extras = requirement.rstrip("]").partition("[")
    assert name == "mollified-value-learning"
    assert set(filter(None, extras.split(","))) <= set(EXTRAS)


def recorded(name: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        write_npz(folder / f"{name}-val.npz", walk(episodes=4, rows=31, seed=1))
        write_npz(folder / f"{name}.npz", walk(episodes=12, rows=31, seed=2))

    return write


def made(run: str) -> Callable[[Path], None]:
    """A run in a maze that plans, as trained for no step."""
    return lambda folder: with_graph(untrained_by_name(folder / run, MEDIUM)) and None


HAS: dict[str, Callable[[Path], None]] = {
    "arm.npz": recorded("arm"),
    "demos.npz": recorded("demos"),
    "more.npz": recorded("more"),
    "runs/demo": made("runs/demo"),
    "runs/mine": made("runs/mine"),
}


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A reader, with pictures and measurements left out; whatever their blocks import is forgotten afterwards."""
    before, paths = set(sys.modules), list(sys.path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MVL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT / 'src'}")
    monkeypatch.setattr("mvl.plots.finish.finish", lambda run: "")
    monkeypatch.setattr(outlook, "Probe", StandIn)
    really = training.train
    monkeypatch.setitem(vars(mvl), "train", lambda *words, **given: really(*words, workers=1, **{**SHORT, **given}))
    sys.path.append(str(tmp_path))
    yield Reader(tmp_path, monkeypatch)
    sys.path[:] = paths
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    task_names.cache_clear()


RUN_HERE = [page for page in PAGES if any(one.language in CODE and runs_here(one, page) for one in blocks(page))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_as_printed(page, reader, capsys):
    for block in blocks(page):
        if runs_here(block, page):
            if block.note.startswith("toy: "):
                reader.has(block.note.removeprefix("toy: "))
            reader.read(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_that_are_not_run_here_say_why_and_can_be_parsed(page):
    for block in blocks(page):
        assert block.language or not re.match(r"(mvl|pip|python|ray) ", block.code), "a command is a block of the language sh"
        note = note_of(block, page)
        if note.startswith("run by "):
            assert (ROOT / note.removeprefix("run by ")).is_file()
        elif note.startswith("not run: "):
            assert len(note.split()) > 4
        else:
            assert not note or note.startswith("toy: "), f"'{note}' is no note of the kinds that this module describes"
        if block.language == "python":
            compile(block.code, str(page), "exec")
        if block.language == "sh":
            for line in block.code.replace("\\\n", " ").splitlines():
                check_words(shlex.split(line, comments=True))


KNOWN = {f"--{name.replace('_', '-')}" for part in (Schedule, Learning) for name in part.__dataclass_fields__}


def check_words(words: list[str]) -> None:
    """A command of ours must exist, and so must its flags; settings of parts are checked by their form only."""
    if words[:1] != ["mvl"] or len(words) == 1:
        return
    assert words[1] in COMMANDS
    given = {word.partition("=")[0] for word in words[: words.index("--") if "--" in words else None] if word.startswith("--")}
    known = {flag for parser in site_pages.parsers(words[1]) for action in parser._actions for flag in action.option_strings}
    assert {flag for flag in given if "." not in flag} <= known | KNOWN | {"--help", "--version"}
