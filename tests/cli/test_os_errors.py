"""Errors of the system about files: one sentence. Anything else keeps its traceback."""

import errno
import os
import resource
from contextlib import contextmanager

import numpy as np
import pytest

from mvl.cli import main
from mvl.errors import file_error_message
from mvl.learn import checkpoint
from mvl.tasks.walker import gait as walker


def told(capsys, *words: object) -> str:
    assert main([str(word) for word in words]) == 1
    err = capsys.readouterr().err
    assert err.startswith("mvl: ")
    assert len(err.splitlines()) == 1
    return err


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "permission denied; change its permissions"),
        (errno.EROFS, "read-only file system; choose a place that can be written to"),
        (errno.EISDIR, "is a directory; name a file, not a folder"),
        (errno.ENOTDIR, "not a directory; a part of the path is a file"),
        (errno.ENAMETOOLONG, "file name too long; choose a shorter name"),
        (errno.ENOENT, "no such file or directory; check the path"),
        (errno.ENOSPC, "no space left on device; free some space"),
        (errno.EMFILE, "too many open files; check the path and the disk"),
    ],
)
def test_a_file_that_cannot_be_used(monkeypatch, capsys, number, words):
    def fail(argv):
        raise OSError(number, os.strerror(number), "some/file")

    monkeypatch.setattr("mvl.cli.doctor.run", fail)
    assert told(capsys, "doctor").startswith(f"mvl: some/file: {words}")


@pytest.mark.parametrize("error", [OSError("a library's own"), OSError(errno.EBADF, "Bad file descriptor"), ValueError("a bug")])
def test_other_errors_are_not_hidden(monkeypatch, error):
    def fail(argv):
        raise error

    monkeypatch.setattr("mvl.cli.doctor.run", fail)
    with pytest.raises(type(error)) as raised:
        main(["doctor"])
    assert raised.value is error


def test_files_that_are_folders(tmp_path, capsys, data_file):
    run = tmp_path / "run"
    (run / "run.json").mkdir(parents=True)
    assert f"mvl: {run}/run.json: " in told(capsys, "eval", run)
    long = tmp_path / ("x" * 300)
    assert "file name too long" in told(capsys, "train", data_file, "--run", long).lower()
    assert "is a file, where a folder is needed" in told(capsys, "train", data_file, "--run", data_file / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "walk-val.npz", "walk.npz"]


def test_the_current_folder_is_gone(tmp_path, monkeypatch, capsys):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()
    words = ["sweep", "--preset", "cpu", "--tasks", "pointmaze-medium-navigate", "--recipes", "gcivl", "--dry-run"]
    assert "the current folder: no such file or directory" in told(capsys, *words)


def test_a_run_folder_is_refused_before_data_is_loaded(tmp_path, capsys, data_file):
    data_file.write_text("not an archive")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    assert "exists already and is not empty" in told(capsys, "train", data_file, "--run", tmp_path / "run")


@contextmanager
def files_of_at_most(size: int):
    """What is written beyond fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_arrays_that_do_not_fit_on_the_disk(tmp_path):
    """The errors are the system's own, which the command understands."""
    layer = walker.Layer(np.zeros((100, 100), np.float32), np.zeros(100, np.float32))
    with files_of_at_most(4096), pytest.raises(OSError, match="File too large") as raised:
        checkpoint.save(tmp_path / "checkpoint", {"weights": np.zeros(10_000)}, {})
    assert file_error_message(raised.value) == "file too large; free some space, or choose another place."
    with files_of_at_most(4096), pytest.raises(OSError, match="File too large"):
        walker.save(tmp_path / "walker", (layer,), {})
    assert list(tmp_path.iterdir()) == []
