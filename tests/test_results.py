"""The results pages show the tables that the commands wrote, and the committed runs give the committed tables."""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from probes import StandIn

from mvl.cli import main
from mvl.results import equal_time
from mvl.studies import execution, outlook

RESULTS = Path(__file__).parents[1] / "docs" / "results"
FOLDERS = RESULTS, RESULTS.parent, RESULTS.parent / "notes"
PAGES = "".join(page.read_text() for folder in FOLDERS for page in sorted(folder.glob("*.md")))
SHOWN = re.findall(r"<!-- from (\S+\.md) -->\n(.*?)<!-- end -->", PAGES, re.S)


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


def script():
    """scripts/results.py as a module."""
    spec = importlib.util.spec_from_file_location("results_script", RESULTS.parents[1] / "scripts" / "results.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


STUDIES = {study.name: study for study in script().read_studies()}
RECORDED = {"table1-medium": "table1", "table2-medium": "table2", "table3b": "table3b", "table1-large-dual": "table1"}
"""Studies all of whose runs are in their records, and the name of their table."""


@pytest.fixture
def untrained(monkeypatch):
    """Commands that train nothing and time nothing."""
    monkeypatch.setattr(execution, "carry_out", lambda plan, options: {})
    monkeypatch.setattr(outlook, "Probe", StandIn)
    monkeypatch.setattr(equal_time, "step_times", lambda *_: {})
    monkeypatch.chdir(RESULTS.parents[1])


@pytest.mark.parametrize("name", RECORDED)
def test_committed_tables_are_those_of_the_committed_runs(name, untrained, tmp_path, capsys):
    study, table = STUDIES[name], RECORDED[name]
    records = tmp_path / "runs.jsonl"
    shutil.copyfile(RESULTS / study.records, records)
    words = [study.command, *shlex.split(study.arguments), "--to", str(tmp_path), "--records", str(records)]
    assert main([*words, "--store", str(tmp_path / "store")]) == 0
    assert "not run" not in capsys.readouterr().out
    for file in (f"{table}.md", f"{table}.csv", f"{table}.tex", f"{table}-surfaces.md", f"{table}-surfaces.csv"):
        assert (tmp_path / file).read_bytes() == (RESULTS / study.to / file).read_bytes(), file
    assert records.read_bytes() == (RESULTS / study.records).read_bytes()


@pytest.fixture(scope="module")
def few_demonstrations(tmp_path_factory):
    """A folder like the root of the repository, in which data of one's own is prepared, with a few episodes."""
    root = tmp_path_factory.mktemp("root")
    for place in ("examples", "docs"):
        (root / place).symlink_to(RESULTS.parents[1] / place)

    def prepare(study):
        for command in study.prepare if not (root / study.needs).exists() else ():
            few = shlex.split(command.replace("--episodes 100", "--episodes 12"))
            python = ["-m", *few] if few[0] == "mvl" else few[1:]
            assert subprocess.run([sys.executable, *python], capture_output=True, cwd=root).returncode == 0
        return root

    return prepare


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_a_command_that_works(name, untrained, few_demonstrations, tmp_path, monkeypatch):
    study, words = STUDIES[name], [*STUDIES[name].words()]
    if study.needs:
        monkeypatch.chdir(few_demonstrations(study))
    cut = words.index("--") if "--" in words else len(words)
    assert main([*words[:cut], "--store", str(tmp_path), "--dry-run", *words[cut:]]) == 0
    assert (RESULTS / study.to).is_dir()


def test_studies_run_in_order_until_one_fails(monkeypatch, capsys):
    results, ran = script(), []
    monkeypatch.setattr(results, "run", lambda words: (ran.append(words[2:]), 3 * (words[2] == "sweep"))[1])
    assert results.main(["--list"]) == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == list(STUDIES)
    assert ran == []
    assert results.main([]) == 3
    commands = [study.command for study in STUDIES.values()]
    assert [words[0] for words in ran] == commands[: commands.index("sweep") + 1]
    assert "arrive stopped with exit code 3; continue with: make results" in capsys.readouterr().err
    ran.clear()
    assert results.main(["--only", "table1-arms", "--dry-run"]) == 0
    assert ran[0][ran[0].index("--dry-run") + 1 :] == ["--", "--eval-episodes", "10", "--eval-every", "10000"]
    with pytest.raises(SystemExit):
        results.main(["--only", "nothing"])
    assert "no study named 'nothing'; choose from eikonal-weight" in capsys.readouterr().err


def test_a_study_of_own_data_writes_its_file_first(tmp_path, monkeypatch):
    results = script()
    monkeypatch.setattr(results, "ROOT", tmp_path)
    prepare = ["python demos.py --to demos", "mvl data import demos --to mine.npz"]
    study = results.Study("own", "sweep", "--tasks mine.npz", "own", "own/runs.jsonl", needs="mine.npz", prepare=prepare)
    assert study.before() == [["demos.py", "--to", "demos"], ["-m", "mvl", "data", "import", "demos", "--to", "mine.npz"]]
    (tmp_path / "mine.npz").touch()
    assert study.before() == []
