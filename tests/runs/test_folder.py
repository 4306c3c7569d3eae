"""Run folders that something else has changed: symbolic links, damaged files, disks that cannot be written."""

import shutil
from pathlib import Path

import pytest

from conftest import small_recipe, walk, write_npz
from mvl.errors import MvlError
from mvl.runs.folder import RunFolder
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
    assert RunFolder.open(run)[1].schedule.steps == 60
    assert (run / "metrics.jsonl").read_text().count('"step": 60') == 2
    assert (run / ".lock").read_text() == "a note"
