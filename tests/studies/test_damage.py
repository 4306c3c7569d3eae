"""Damaged runs in a store: they are named, set aside and trained again, and never stop the rest."""

import fcntl
import json
from pathlib import Path

import numpy as np
import pytest
from made_runs import TASK, experiment, made_run
from probes import StandIn

from mvl.cli import main
from mvl.learn import checkpoint
from mvl.runs.folder import RunFolder
from mvl.studies import execution as go
from mvl.studies import outlook
from mvl.studies.engines import failure_reason
from mvl.studies.job import folder_of
from mvl.studies.store import process_seconds, progress_of, runs_of

SETTINGS = {"steps": "30", "eval_every": "10", "log_every": "10", "save_every": "10", "steps_per_dispatch": "10"}
WORDS = [word for name, text in SETTINGS.items() for word in (f"--{name.replace('_', '-')}", text)]
OF = experiment(**SETTINGS)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def broken_line(file: Path) -> None:
    first, second, *rest = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([first, second[:15] + b"\n", *rest]))


def lost_line(file: Path) -> None:
    first, _, *rest = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([first, *rest]))


def no_success(file: Path) -> None:
    file.write_text(file.read_text().replace("overall", "over"))


def no_seeds(file: Path) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | {"seeds": "all"}))


DAMAGES = {
    "checkpoint cut": ("checkpoint.safetensors", cut),
    "checkpoint empty": ("checkpoint.safetensors", lambda file: file.write_bytes(b"")),
    "checkpoint of zeros": ("checkpoint.safetensors", lambda file: file.write_bytes(bytes(200))),
    "description cut": ("run.json", cut),
    "description empty": ("run.json", lambda file: file.write_bytes(b"")),
    "description not an object": ("run.json", lambda file: file.write_text("[]")),
    "description not text": ("run.json", lambda file: file.write_bytes(b"\xff" * 50)),
    "description without seeds": ("run.json", no_seeds),
    "evaluations with a broken line": ("evaluations.jsonl", broken_line),
    "evaluations cut": ("evaluations.jsonl", cut),
    "evaluations empty": ("evaluations.jsonl", lambda file: file.write_bytes(b"")),
    "evaluations without a line": ("evaluations.jsonl", lost_line),
    "evaluations without success": ("evaluations.jsonl", no_success),
}


def saved_run(store: Path, seed: int, success: float = 0.4) -> Path:
    """A finished run with a checkpoint of its last step."""
    run = made_run(folder_of(OF, store) / f"seeds-{seed}", OF, [seed], success)
    size = (run / "evaluations.jsonl").stat().st_size
    checkpoint.save(run / "checkpoint.safetensors", {"step": np.array([30])}, {"sizes": {"evaluations.jsonl": size}})
    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def sweep(store: Path, *words: str) -> int:
    command = ["sweep", "--preset", "cpu", "--tasks", TASK, "--recipes", "gcivl", "--seeds", "2", "--store", str(store), *words]
    return main([*command, "--", *WORDS])


@pytest.fixture
def trained(monkeypatch) -> list[Path]:
    """The runs that a sweep trains; each comes out with a success of 0.8, in no time."""
    runs = []

    def train(jobs, report, room):
        for job in jobs:
            made_run(job.run, job.experiment, list(job.experiment.seeds), 0.8)
            runs.append(job.run)
        report([], dict.fromkeys(jobs, ""))
        return {}

    monkeypatch.setattr(go, "run", train)
    monkeypatch.setattr(outlook, "Probe", StandIn)
    monkeypatch.setattr(outlook, "missing", lambda *_: [])
    return runs


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_run_is_set_aside_and_trained_again(kind, trained, tmp_path, capsys):
    name, damage = DAMAGES[kind]
    whole, run = saved_run(tmp_path, 0), saved_run(tmp_path, 1)
    run.with_name("seeds-1.log").write_text("what it said")
    damage(run / name)
    before, kept = contents(run), contents(whole)
    assert sweep(tmp_path) == 0
    out, err = capsys.readouterr()
    aside = run.with_name("seeds-1.damaged")
    assert f"damaged run set aside as seeds-1.damaged, to be trained again: {run / name}" in err
    assert trained == [run]
    assert contents(aside) == before
    assert aside.with_name("seeds-1.damaged.log").read_text() == "what it said"
    assert contents(whole) == kept
    assert "1 seeds are done, 1 runs are left" in out
    assert "60 [0, 100]" in out  # of 40 and 80


def test_what_was_set_aside_is_not_looked_at_again(trained, tmp_path, capsys):
    saved_run(tmp_path, 0)
    run = saved_run(tmp_path, 1)
    for name in ("seeds-1.damaged", "seeds-1.damaged-2"):
        cut(run / "run.json")
        before = contents(run)
        assert sweep(tmp_path) == 0
        assert f"set aside as {name}, to be trained again" in capsys.readouterr().err
        assert contents(run.with_name(name)) == before
    assert sweep(tmp_path) == 0
    assert "damaged run" not in capsys.readouterr().err
    assert trained == [run, run]


def test_a_whole_run_is_left_alone(trained, tmp_path, capsys):
    for seed in (0, 1):
        saved_run(tmp_path, seed)
    before = contents(tmp_path)
    assert sweep(tmp_path) == 0
    assert not trained
    assert "damaged run" not in capsys.readouterr().err
    assert contents(tmp_path) == before


def test_an_unfinished_run_with_a_damaged_checkpoint_is_damaged_and_so_judged(tmp_path):
    run = made_run(folder_of(OF, tmp_path) / "seeds-0", OF, [0], until=10)
    checkpoint.save(run / "checkpoint.safetensors", {"step": np.array([10])}, {})
    (job,) = runs_of(OF, tmp_path, None).unfinished
    assert not runs_of(OF, tmp_path, None).damaged
    cut(run / "checkpoint.safetensors")
    assert list(runs_of(OF, tmp_path, None).damaged) == [run]
    assert "checkpoint.safetensors: not a readable checkpoint" in failure_reason(job, 0)


def test_a_dry_run_names_damage_and_moves_nothing(trained, tmp_path, capsys):
    saved_run(tmp_path, 0)
    cut(saved_run(tmp_path, 1) / "checkpoint.safetensors")
    before = contents(tmp_path)
    assert sweep(tmp_path, "--dry-run") == 0
    out, err = capsys.readouterr()
    assert "damaged run would be set aside and trained again: " in err
    assert "1 seeds are done, 1 runs are left" in out
    assert contents(tmp_path) == before
    assert not trained


def test_a_damaged_run_in_use_is_left_where_it_is(tmp_path, capsys, trained, monkeypatch):
    monkeypatch.setattr(go, "run", lambda jobs, report, room: {})
    saved_run(tmp_path, 0)
    run = saved_run(tmp_path, 1)
    cut(run / "run.json")
    before = contents(tmp_path)
    with open(run / ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert sweep(tmp_path) == 0
    assert f"damaged run not renamed ({run} is in use by another process" in capsys.readouterr().err
    assert contents(tmp_path) == before


def test_a_damaged_line_of_a_log_loses_that_line_alone(tmp_path):
    run = saved_run(tmp_path, 0)
    clock = run.with_name("seeds-0.clock.jsonl")
    event = lambda name, time: json.dumps({"event": name, "time": time})
    lines = [event("began", 0.0), event("ended", 50.0), event("began", 60.0) + event("ended", 70.0), "[1]", '{"event": "began"}']
    clock.write_text("\n".join([*lines, event("began", 100.0), event("ended", 107.0), '{"event": "beg']))
    with open(run / "timing.jsonl", "a") as file:
        file.write('{"step": 30, "ti\n')
    assert process_seconds(run) == 57
    assert not runs_of(OF, tmp_path, None).damaged
    (run / "evaluations.jsonl").unlink()
    (run / "checkpoint.safetensors").unlink()
    (job,) = runs_of(OF, tmp_path, None).unfinished
    assert progress_of(job) == 30


def test_a_record_takes_the_place_of_a_damaged_run(trained, tmp_path, capsys):
    store, records = tmp_path / "store", tmp_path / "runs.jsonl"
    for seed in (0, 1):
        saved_run(store, seed, 0.6)
    assert sweep(store, "--records", str(records)) == 0
    records.write_text(records.read_text().splitlines()[1] + "\n")
    for seed in (0, 1):
        cut(folder_of(OF, store) / f"seeds-{seed}" / "checkpoint.safetensors")
    capsys.readouterr()
    assert sweep(store, "--records", str(records)) == 0
    assert "took in 1 finished runs" in (out := capsys.readouterr().out)
    assert trained == [folder_of(OF, store) / "seeds-0"]
    assert "70 [0, 100]" in out  # of 80, trained again, and 60, taken in
    assert not (RunFolder(folder_of(OF, store) / "seeds-1").checkpoint_file).exists()
