"""What `mvl sweep`, `reproduce` and `tune` may write: nothing in a dry run, and over an existing file only when told to."""

import json
from pathlib import Path

import numpy as np
import pytest
from made_runs import TASK, experiment, made_run
from matplotlib.image import imread
from probes import StandIn

from mvl.cli import main
from mvl.learn import checkpoint
from mvl.results import equal_time, surfaces
from mvl.results.geometry import Geometry
from mvl.runs.judging import saved_measures
from mvl.studies import execution, outlook
from mvl.studies.job import folder_of
from mvl.studies.records import keep


@pytest.fixture
def finished(tmp_path) -> Path:
    """A store with one finished seed of gcivl and of both weights that are tuned."""
    store = tmp_path / "store"
    for of in (
        experiment(),
        experiment("gcivl-mvl", regularizer__weight="1.0"),
        experiment("gcivl-mvl", regularizer__weight="3.0"),
    ):
        made_run(folder_of(of, store) / "seeds-0", of, [0])
    return store


@pytest.fixture
def measured(monkeypatch):
    """Surfaces and times of steps without measuring."""
    monkeypatch.setattr(surfaces, "geometry", lambda run, bound: Geometry(1, 1, 1, 1, 0, 0))
    monkeypatch.setattr(equal_time, "step_times", lambda experiments, *_: dict.fromkeys(experiments, 0.01))


COMMANDS = {
    "sweep": (["sweep", "--preset", "cpu", "--tasks", TASK, "--recipes", "gcivl"], "sweep"),
    "reproduce": (["reproduce", "table1", "--rows", "pointmaze-medium", "--columns", "ORIG"], "table1"),
    "tune": (
        ["tune", TASK, "--preset", "cpu", "--recipe", "gcivl-mvl", "--knob", "regularizer.weight=1,3"],
        f"tune-{TASK}-gcivl-mvl",
    ),
}


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and folder below one."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


def test_records_have_the_measures_that_were_chosen_by(finished, tmp_path, monkeypatch, capsys):
    def judged(run, save=True):
        (run / "held_out.json").write_text('{"step": 30000, "seeds": [0], "measures": {"model-success": [0.5]}}')
        return saved_measures(run)

    file = tmp_path / "runs.jsonl"
    words = [*COMMANDS["tune"][0], "--seeds", "1", "--by", "model-success", "--records", str(file)]
    with monkeypatch.context() as patch:
        patch.setattr("mvl.results.results.measures_of", judged)
        assert main([*words, "--store", str(finished)]) == 0
    assert [json.loads(line)["held_out"]["measures"] for line in file.read_text().splitlines()] == [{"model-success": [0.5]}] * 2
    assert main([*words, "--store", str(tmp_path / "other")]) == 0  # where there are no checkpoints to measure by
    assert "chosen on" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["../x", "a/b", "/x", ".x", "", "a b", "x\n"])
def test_a_name_is_not_a_path(tmp_path, monkeypatch, capsys, name):
    monkeypatch.setattr(execution, "carry_out", lambda *_: pytest.fail("it ran"))
    store = ["--store", str(tmp_path / "store"), "--to", str(tmp_path / "to")]
    assert main([*COMMANDS["sweep"][0], *store, f"--name={name}"]) == 2
    err = capsys.readouterr().err
    assert "is not a plain name: use letters" in err
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("command", COMMANDS)
def test_existing_tables_are_refused_before_anything_runs(tmp_path, finished, monkeypatch, capsys, command):
    words, name = COMMANDS[command]
    words = [*words, "--seeds", "1", "--store", str(finished), "--to", str(tmp_path / "to")]
    ended = ["-by-success.json"] if command == "tune" else []
    for ending in (".md", ".csv", ".tex", ".png", *ended):
        mine = tmp_path / "to" / f"{name}{ending}"
        mine.parent.mkdir(exist_ok=True)
        mine.write_text("mine")
        with monkeypatch.context() as patch:
            patch.setattr(execution, "carry_out", lambda *_: pytest.fail("it ran"))
            assert main(words) == 1
        err = capsys.readouterr().err
        assert err == f"mvl: {mine} exists already; choose another name, or replace it with --overwrite.\n"
        assert [path.read_text() for path in mine.parent.iterdir()] == ["mine"]
        mine.unlink()
    mine.write_text("mine")
    assert main([*words, "--overwrite"]) == 0
    assert "mine" not in mine.read_text(errors="replace")
    assert len(list(mine.parent.iterdir())) == 4 + len(ended)
    assert imread(mine.parent / f"{name}.png").size


def test_an_earlier_choice_in_the_store_is_kept(finished, capsys):
    words = [*COMMANDS["tune"][0], "--seeds", "1", "--store", str(finished)]
    assert main(words) == 0
    (choice,) = finished.glob("*.json")
    capsys.readouterr()
    assert main(words) == 1
    assert f"{choice} exists already" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0


def test_a_dry_run_writes_nothing_and_tells_what_would_be_written(tmp_path, finished, measured, monkeypatch, capsys):
    """With everything that could be asked for; then the same command for real."""
    monkeypatch.setattr(outlook, "Probe", StandIn)
    to, records, store = tmp_path / "to", tmp_path / "runs.jsonl", tmp_path / "new"
    keep([made_run(tmp_path / "elsewhere", experiment(), [0], 0.25)], records)
    run = folder_of(experiment(), finished) / "seeds-0"
    sizes = {"evaluations.jsonl": run.joinpath("evaluations.jsonl").stat().st_size}
    checkpoint.save(
        run / "checkpoint.safetensors", {"step": np.array([experiment().schedule.steps])}, {"sizes": sizes}
    )  # of which a surface could be measured
    extra = ["--to", str(to), "--records", str(records), "--report", str(to / "page.html"), "--surfaces", "--equal-time"]
    before = contents(tmp_path)
    for place, seeds in ((store, "2"), (finished, "2")):
        assert main([*COMMANDS["sweep"][0], "--seeds", seeds, "--store", str(place), "--dry-run", *extra]) == 0
        out = capsys.readouterr().out
        assert contents(tmp_path) == before
        assert "1 seeds are done, 1 runs are left to do" in out  # the record counts though it is not taken in
    assert main([*COMMANDS["tune"][0], "--store", str(store), "--dry-run"]) == 0
    assert f"would write {store}/tune-{TASK}-gcivl-mvl-by-success.json" in capsys.readouterr().out
    assert contents(tmp_path) == before

    told = sorted(line.removeprefix("would write ") for line in out.splitlines() if line.startswith("would write "))
    run.joinpath("checkpoint.safetensors").unlink()
    run.joinpath("surface.json").write_text(json.dumps(Geometry(1, 1, 1, 1, 0, 0).to_json()))
    real = [*COMMANDS["sweep"][0], "--store", str(finished), *extra]
    assert main([*real, "--records", str(tmp_path / "others.jsonl")]) == 0
    assert sorted(map(str, to.iterdir())) == told


def test_a_record_of_another_run_is_kept(tmp_path, finished, capsys):
    records = tmp_path / "runs.jsonl"
    words = [*COMMANDS["sweep"][0], "--store", str(finished), "--records", str(records)]
    assert main(words) == 0
    before = records.read_bytes()
    assert main(words) == 0  # the same runs again
    assert records.read_bytes() == before
    run = folder_of(experiment(), finished) / "seeds-0"
    run.joinpath("evaluations.jsonl").write_text(run.joinpath("evaluations.jsonl").read_text().replace("0.5", "0.75"))
    capsys.readouterr()
    assert main(words) == 1
    assert f"{run} differs from its record; replace the record with --overwrite" in capsys.readouterr().err
    assert records.read_bytes() == before
    assert main([*words, "--overwrite"]) == 0
    assert records.read_bytes() != before


def test_failed_runs_are_tried_again_by_a_command_that_is_not_refused(tmp_path, finished, monkeypatch, capsys):
    words = [*COMMANDS["sweep"][0], "--store", str(finished), "--to", str(tmp_path / "to")]
    monkeypatch.setattr(execution, "carry_out", lambda plan, options: {"a job": "it broke"})
    assert main(words) == 1
    assert "the same command with --overwrite tries them again" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 1
    assert "the same command tries them again" in capsys.readouterr().err
