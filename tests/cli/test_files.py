"""Files that commands write: what exists is refused, before any work is done for it."""

import errno
from pathlib import Path

import pytest

from mvl.cli import bench, main

WRITERS = {
    "bench": (["bench", "--to"], ".json"),
    "bench picture": (["bench", "--picture"], ".png"),
    "toy": (["toy", "--to"], ".svg"),
    "toy json": (["toy", "--json"], ".json"),
    "lights": (["toy", "lights", "--to"], ".png"),
    "lights json": (["toy", "lights", "--json"], ".json"),
    "report": (["report", "no-run", "-o"], ".html"),
    "plot": (["plot", "curve", "no-run", "-o"], ".png"),
    "expert": (["data", "expert", "ant", "--to"], ".safetensors"),
}


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    """Work that would take long fails the test."""
    for work in (
        "mvl.cli.bench._measured",
        "mvl.toy.figure.all_fields",
        "mvl.toy.lights.learning.puzzle",
        "mvl.report.page.report",
        "mvl.tasks.walker.training.train_ant",
    ):
        monkeypatch.setattr(work, lambda *_: pytest.fail("it ran"))


def refused(capsys, *words: object) -> str:
    assert main([str(word) for word in words]) == 1
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    return err


@pytest.mark.parametrize("command", WRITERS)
def test_what_exists_is_refused(tmp_path, capsys, command):
    words, ending = WRITERS[command]
    mine, folder = tmp_path / f"mine{ending}", tmp_path / f"folder{ending}"
    mine.write_text("mine")
    folder.mkdir()
    assert f"mvl: {mine} exists already" in refused(capsys, *words, mine)
    assert f"mvl: {folder} exists already; choose another name." in refused(capsys, *words, folder, "--overwrite")
    assert f"mvl: {mine} is a file, where a folder is needed" in refused(capsys, *words, mine / f"x{ending}")
    assert "too long for a file's name" in refused(capsys, *words, tmp_path / f"{'x' * 240}{ending}")
    assert mine.read_text() == "mine"
    assert sorted(tmp_path.iterdir()) == [folder, mine]


@pytest.mark.parametrize("command", WRITERS)
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch, capsys, command):
    words, ending = WRITERS[command]

    def read_only(dir: Path):
        raise OSError(errno.EROFS, "Read-only file system", str(dir))

    monkeypatch.setattr("mvl.files.tempfile.TemporaryFile", read_only)
    assert f"mvl: {tmp_path} cannot be written to (Read-only file system)" in refused(
        capsys, *words, tmp_path / "new" / f"x{ending}"
    )


def test_videos_need_a_folder(tmp_path, capsys):
    (tmp_path / "mine").write_text("mine")
    assert "is a file, where a folder is needed" in refused(capsys, "video", "no-run", "--to", tmp_path / "mine")


def test_two_files_need_two_names(tmp_path, capsys):
    assert "is named for two files" in refused(capsys, "toy", "--to", tmp_path / "x.svg", "--json", tmp_path / "x.svg")


def test_a_bench_is_written_whole_and_replaced_only_when_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "_measured", lambda only: {"bars": []})
    result = tmp_path / "result.json"
    assert main(["bench", "--to", str(result)]) == 0
    assert "exists already" in refused(capsys, "bench", "--to", result)
    assert main(["bench", "--to", str(result), "--overwrite"]) == 0
    assert main(["bench", "--table", str(result), "--to", str(tmp_path / "other.json")]) == 2
    assert "cannot be combined with them" in capsys.readouterr().err
