"""Run folders that something else has changed: symbolic links, damaged files, disks that cannot be written."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from conftest import small_recipe, walk, write_npz
from mvl.cli import main
from mvl.errors import DamagedError, MvlError
from mvl.runs import metrics
from mvl.runs.folder import RunFolder
from mvl.runs.restore import restore
from mvl.runs.session import Session
from mvl.runs.training import resume, train

SCHEDULE = {"steps": 40, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10}
ROWS = ("metrics.jsonl", "evaluations.jsonl", "timing.jsonl")


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A run of 40 steps and two seeds; tests change copies of it."""
    folder = tmp_path_factory.mktemp("finished")
    write_npz(folder / "walk-val.npz", walk(seed=1))
    return train(write_npz(folder / "walk.npz", walk()), small_recipe(), run=folder / "run", seeds=2, **SCHEDULE)


@pytest.fixture
def run(finished, tmp_path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("name", [".lock", "run.json", "checkpoint.safetensors", *ROWS, "surface.json"])
def test_a_linked_file_is_refused_and_what_it_links_to_is_untouched(run, tmp_path, name):
    outside = tmp_path / "outside"
    if (run / name).exists() and name != ".lock":
        (run / name).rename(outside)
    else:
        outside.write_text("mine")
        (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(outside)
    before = contents(run)
    with pytest.raises(MvlError, match=f"{name} is a symbolic link, which is not written through; put the file itself"):
        resume(run, steps=60)
    assert contents(run) == before
    assert (run / name).is_symlink()


def test_a_new_run_is_not_made_over_a_link(finished, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "outside")
    with pytest.raises(MvlError, match=".lock is a symbolic link"):
        RunFolder.create(tmp_path / "run", RunFolder.open(finished)[1])
    assert (tmp_path / "outside").read_text() == "mine"
    assert [file.name for file in (tmp_path / "run").iterdir()] == [".lock"]


def test_a_linked_folder_is_resumed_and_its_lock_file_keeps_its_content(run, tmp_path):
    (tmp_path / "link").symlink_to(run)
    (run / ".lock").write_text("a note")
    resume(tmp_path / "link", steps=60)
    assert RunFolder.open(run)[1].experiment.schedule.steps == 60
    assert (run / "metrics.jsonl").read_text().count('"step": 60') == 2
    assert (run / ".lock").read_text() == "a note"


def test_a_shortened_file_of_rows_is_not_filled_up(run, capsys):
    file = run / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:5]) + lines[5][:30])
    resume(run, steps=60)
    warning = "does not match the checkpoint of step 40; its 5 complete rows up to that step are kept (missing steps: 30, 40)."
    assert f"{file} {warning}" in capsys.readouterr().err
    assert file.read_bytes().startswith(b"".join(lines[:5]) + b'{"step": 50, ')
    assert [row["step"] for row in metrics.read(file)] == [10, 10, 20, 20, 30, 50, 50, 60, 60]
    resume(run)
    assert "metrics.jsonl" not in capsys.readouterr().err  # the next checkpoint has noted what there is


@pytest.mark.parametrize("sizes", [10**9, 100, -1, 1e300, "many", None, [], True])
def test_a_changed_note_of_sizes_loses_no_rows(run, capsys, sizes):
    checkpoint, before = run / "checkpoint.safetensors", contents(run)
    with safe_open(checkpoint, framework="numpy") as file:
        notes = json.loads(file.metadata()["mvl"])
    assert notes["sizes"]["metrics.jsonl"] == len(before["metrics.jsonl"])
    changed = {**notes, "sizes": {**notes["sizes"], "metrics.jsonl": sizes}} if sizes is not True else {**notes, "sizes": True}
    save_file(load_file(checkpoint), checkpoint, {"mvl": json.dumps(changed)})
    resume(run)
    assert "metrics.jsonl does not match the checkpoint of step 40; its 8 complete rows" in (err := capsys.readouterr().err)
    assert "(missing steps: none)" in err
    assert {name: (run / name).read_bytes() for name in ROWS} == {name: before[name] for name in ROWS}


def test_rows_after_the_checkpoint_and_lines_that_are_none_are_dropped(run, capsys):
    before = contents(run)
    with open(run / "metrics.jsonl", "ab") as file:
        file.write(b'{"step": 50, "seed": 0}\n{"step": 50, "se')
    resume(run)
    assert "checkpoint of step" not in capsys.readouterr().err  # as a run that was killed leaves it
    lines = before["evaluations.jsonl"].splitlines(keepends=True)
    (run / "evaluations.jsonl").write_bytes(b"".join([lines[0], b"\0" * 20 + b"\n", *lines[2:]]))
    resume(run)
    assert "evaluations.jsonl does not match the checkpoint of step 40; its 3 complete rows" in (err := capsys.readouterr().err)
    assert "(missing steps: 20)" in err
    assert (run / "metrics.jsonl").read_bytes() == before["metrics.jsonl"]
    assert (run / "evaluations.jsonl").read_bytes() == b"".join([lines[0], *lines[2:]])


@pytest.mark.parametrize(
    "line", [b"\0\0", b'{"step": 20, "se', b"[20, 0]", b'{"step": 20}', b'{"step": "20", "seed": 0}', b"\xff", b""]
)
def test_a_line_that_is_no_row_is_named(tmp_path, line):
    file = tmp_path / "metrics.jsonl"
    file.write_bytes(b'{"step": 10, "seed": 0}\n' + line + b"\n" + b'{"step": 30, "seed": 0}\n')
    with pytest.raises(DamagedError, match=r"metrics.jsonl, line 2: not a JSON object with a step and a seed; remove the line"):
        metrics.read(file)


def test_rows_reach_the_disk_before_the_checkpoint_that_refers_to_them(run, monkeypatch):
    events, sync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (events.append(Path(os.readlink(f"/proc/self/fd/{file}")).name), sync(file)))
    monkeypatch.setattr(os, "replace", lambda source, target: (events.append(f"-> {Path(target).name}"), replace(source, target)))
    resume(run, steps=60)
    saved = [index for index, event in enumerate(events) if event == "-> checkpoint.safetensors"]
    assert len(saved) == 1
    assert {"metrics.jsonl", "evaluations.jsonl"} <= set(events[: saved[0]])


def test_a_run_with_a_damaged_checkpoint_is_not_changed(run):
    checkpoint = run / "checkpoint.safetensors"
    checkpoint.write_bytes(checkpoint.read_bytes()[:-10])
    before = contents(run)
    with pytest.raises(DamagedError, match="checkpoint.safetensors: not a readable checkpoint"):
        resume(run, steps=60)
    assert contents(run) == before


@pytest.fixture
def failing(monkeypatch):
    """Opening a file of this name for writing, or a temporary file that is to replace it, fails with this error."""

    def fail(name: str, number: int) -> None:
        opened = os.open

        def refuse(path, flags, *rest, **named):
            if flags & os.O_ACCMODE and (Path(path).name == name or Path(path).name.startswith(f".{name}.")):
                raise OSError(number, os.strerror(number), str(path))
            return opened(path, flags, *rest, **named)

        monkeypatch.setattr(os, "open", refuse)

    return fail


FAILURES = {
    "metrics.jsonl": (errno.ENOSPC, "no space left on device); free some space, then continue"),
    "evaluations.jsonl": (errno.EDQUOT, "disk quota exceeded); free some space, then continue"),
    "timing.jsonl": (errno.EIO, "input/output error); continue"),
    "checkpoint.safetensors": (errno.ENOSPC, "no space left on device); free some space, then continue"),
    "run.json": (errno.EROFS, "read-only file system); make it writable, then continue"),
    ".lock": (errno.EACCES, "permission denied); make it writable, then continue"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_file_that_cannot_be_written_is_told_and_the_checkpoint_is_whole(run, capsys, failing, name):
    number, told = FAILURES[name]
    before = (run / "checkpoint.safetensors").read_bytes()
    failing(name, number)
    assert main(["train", "--resume", str(run), "--steps", "60"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == (
        f"mvl: {run / name} cannot be written ({told} from the last checkpoint, which is complete, with: mvl train --resume {run}"
    )
    assert (run / "checkpoint.safetensors").read_bytes() == before
    assert int(restore(run)[2].step[0]) == 40
    assert not [file for file in run.iterdir() if file.name.startswith(".") and file.name != ".lock"]


@pytest.mark.parametrize("method", ["_write", "_save"])
def test_a_folder_removed_while_training_is_told_and_not_made_again(run, capsys, monkeypatch, method):
    whole = getattr(Session, method)
    monkeypatch.setattr(Session, method, lambda self, *given: (shutil.rmtree(run, ignore_errors=True), whole(self, *given))[1])
    assert main(["train", "--resume", str(run), "--steps", "60"]) == 1
    name = "metrics.jsonl" if method == "_write" else "checkpoint.safetensors"
    told = f"mvl: {run / name} cannot be written (no such file or directory); train again, as the run's folder does not exist"
    assert capsys.readouterr().err.splitlines()[-1] == told
    assert not run.exists()


def test_a_folder_that_cannot_be_made_is_told(finished, tmp_path, failing):
    description = RunFolder.open(finished)[1]
    (tmp_path / "file").write_text("mine")
    with pytest.raises(MvlError, match="file is a file, where a folder is needed; choose another place"):
        RunFolder.create(tmp_path / "file" / "run", description)
    failing("run.json", errno.ENOSPC)
    with pytest.raises(MvlError, match="run.json cannot be written .no space left on device.; free some space, then train again"):
        RunFolder.create(tmp_path / "run", description)
    assert [file.name for file in (tmp_path / "run").iterdir()] == [".lock"]


def test_unfinished_files_of_a_killed_process_are_removed_by_the_next_start(run):
    leftovers = [run / ".checkpoint.safetensors.a1b2.safetensors", run / ".run.json.c3.json"]
    others = [run / ".notes", run / ".checkpoint.txt"]
    for file in (*leftovers, *others):
        file.write_text("unfinished")
    resume(run, steps=60)
    assert not any(file.exists() for file in leftovers)
    assert all(file.exists() for file in others)


def test_resuming_with_another_arithmetic_is_said(run, monkeypatch, capsys):
    resume(run, steps=50)
    assert "arithmetic" not in capsys.readouterr().err
    monkeypatch.setattr("mvl.learn.devices.disabled_reason", lambda: "no compiler")
    resume(run, steps=60)
    now = "native True before, False now"
    assert f"the run continues with another arithmetic ({now}): its last digits will differ" in capsys.readouterr().err


def test_a_run_of_a_newer_version_is_refused(run, capsys):
    file = run / "run.json"
    described = json.loads(file.read_text())
    assert described["format"] == 1
    before = contents(run)
    file.write_text(json.dumps({**described, "format": 2}))
    assert main(["train", "--resume", str(run), "--steps", "60"]) == 1
    told = f"mvl: {file}: written by a newer mvl (format 2, this one reads 1); update with: pip install --upgrade mollified"
    assert capsys.readouterr().err.splitlines()[-1].startswith(told)
    assert {**contents(run), "run.json": before["run.json"]} == before
    for wrong in ({"format": "1"}, {"format": 0}, {"format": True}):
        file.write_text(json.dumps({**described, **wrong}))
        with pytest.raises(DamagedError, match=r"run.json: cannot be read"):
            RunFolder.open(run)


def test_a_description_has_the_ranges_of_the_observations(dataset):
    from mvl.runs.data import origin_of

    observations = dataset.observations
    ranges = origin_of(None, dataset)["observations"]
    assert ranges["low"] == observations.min(axis=0).tolist()
    assert ranges["high"] == observations.max(axis=0).tolist()
    assert ranges["std"] == pytest.approx(observations.std(axis=0).tolist(), rel=1e-5)
