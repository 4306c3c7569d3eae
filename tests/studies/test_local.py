"""Real runs on this machine: killed in the middle, started again, failing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_runs import STEPS, TASK, TINY, TINY_FLAGS, experiment, write_walks

from mvl.cli import main
from mvl.studies import execution as go
from mvl.studies.engines import local
from mvl.studies.job import Job, folder_of
from mvl.studies.process import JobSpec, start
from mvl.studies.store import is_done, with_seeds


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}


def children(store: Path) -> list[int]:
    """Processes that train into a store."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if any("mvl.studies.process" in word for word in words) and any(str(store) in word for word in words):
            found.append(int(place.name))
    return found


def wait_until(condition, seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_and_redoes_nothing(tmp_path):
    data, store = write_walks(tmp_path / "data"), tmp_path / "store"
    command = [sys.executable, "-m", "mvl", "reproduce", "table1", "--rows", "pointmaze-medium", "--columns", "bc", "ORIG"]
    command += ["--seeds", "1", "--at-once", "1", "--store", str(store), "--data", str(data), "--", *TINY_FLAGS]
    settings = {name.replace(".", "__"): text for name, text in TINY.items()}
    done, cut = (folder_of(experiment(recipe, **settings), store) / "seeds-0" for recipe in ("bc", "gcivl"))

    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: (cut / "checkpoint.safetensors").exists() or process.poll() is not None)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not children(store), 30.0)  # nothing goes on by itself
    assert is_done(done, STEPS, (0,))
    assert not is_done(cut, STEPS, (0,))
    before = contents(done)

    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert "1 seeds are done, 1 runs are left" in again.stdout
    assert contents(done) == before
    assert is_done(cut, STEPS, (0,))
    assert "2 finished runs" in again.stdout


@pytest.mark.slow
def test_a_run_that_fails_does_not_stop_the_others(tmp_path):
    data, of = write_walks(tmp_path / "data"), experiment("bc")
    jobs = [Job(with_seeds(of, (seed,), data), folder_of(of, tmp_path) / f"seeds-{seed}") for seed in range(2)]
    for job in jobs:
        job.run.mkdir(parents=True)
        (job.run / "notes.txt").write_text("mine")  # a folder that is no run, and not empty
    failed = local.run(jobs, lambda running, ended: None, local.places("cpu", 1, 1))
    assert list(failed) == jobs
    assert "ended with code 1" in failed[jobs[1]]
    assert "exists already and is not empty" in failed[jobs[1]]
    assert (jobs[0].run / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["log", "clock"])
def test_files_beside_a_run_are_not_written_through_links(tmp_path, name):
    """That run fails; nothing is started for it."""
    of, outside = experiment("bc"), tmp_path / "outside"
    job = Job(with_seeds(of, (0,), tmp_path), folder_of(of, tmp_path) / "seeds-0")
    outside.write_text("mine")
    job.run.parent.mkdir(parents=True)
    getattr(job, name).symlink_to(outside)
    failed = local.run([job], lambda running, ended: None, local.places("cpu", 1, 1))
    assert f"{getattr(job, name)} is a symbolic link" in failed[job]
    assert outside.read_text() == "mine"
    assert [file.name for file in job.run.parent.iterdir()] == [getattr(job, name).name]


def test_failures_are_told_last_with_a_code(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(go, "carry_out", lambda plan, options: {"a job": "it broke"})
    code = main(
        ["sweep", "--preset", "cpu", "--tasks", TASK, "--recipes", "bc", "--store", str(tmp_path), "--to", str(tmp_path / "to")]
    )
    assert code == 1
    assert "mvl: 1 runs failed; the same command with --overwrite tries them again:\n  a job: it broke" in capsys.readouterr().err
    assert (tmp_path / "to" / "sweep.csv").exists()  # what there is, is written


def test_a_child_ends_with_its_starter(tmp_path):
    job = JobSpec(str(tmp_path / "run"), ("train", "--help"), str(tmp_path / "log"), str(tmp_path / "clock"))
    child = start(job)
    os.kill(child.pid, signal.SIGSTOP)  # it cannot finish by itself before its starter is gone
    assert child.stdin is not None
    child.stdin.close()
    os.kill(child.pid, signal.SIGCONT)
    assert child.wait(timeout=60) == 1
    noted = (tmp_path / "clock").read_text()
    assert ("began" in noted, "ended" in noted) == (True, False)


def test_there_is_a_slot_per_core_or_device():
    assert len(local.places("cpu", 1, None)) == len(os.sched_getaffinity(0))
    assert [slot.device for slot in local.places("gpu", 2, 3)] == [0, 1, 0]
