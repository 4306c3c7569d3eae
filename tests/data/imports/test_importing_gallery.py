"""The gallery of layouts in docs/data.md: every file that it shows is written by a test's writer, every command works on it."""

import re
import shlex
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as parquet
import pytest
from layouts import (
    made,
    write_aloha,
    write_csv_file,
    write_csv_folder,
    write_hdf5_file,
    write_lerobot,
    write_minari,
    write_npz_file,
    write_npz_folder,
    write_robomimic,
    write_streams,
)

from mvl.cli import main
from mvl.data.sources.npz import load

TEXT = (Path(__file__).parents[3] / "docs" / "data.md").read_text()
GALLERY = TEXT.partition("## Gallery of layouts")[2].partition("\n## ")[0]
SECTIONS = {title: rest for title, _, rest in (part.partition("\n") for part in GALLERY.split("\n### ")[1:])}
WRITERS = {
    "CSV, a file per episode": ("demos", write_csv_folder),
    "CSV, all episodes in one file": ("demos.csv", write_csv_file),
    "NumPy, a file per episode": ("demos", write_npz_folder),
    "NumPy, all episodes in one file": ("demos.npz", write_npz_file),
    "HDF5, a file per episode (ALOHA)": ("demos", write_aloha),
    "HDF5, a group per episode (robomimic)": ("demos.hdf5", lambda path, pairs: write_robomimic(path, pairs, valid=[4])),
    "HDF5, all episodes in one file": ("demos.h5", write_hdf5_file),
    "LeRobot, version 2": ("robot", lambda path, pairs: write_lerobot(path, pairs, "v2.1")),
    "LeRobot, version 3": ("robot", write_lerobot),
    "Minari": ("arm", write_minari),
    "Streams of different rates (ROS)": ("rec", write_streams),
}


def columns(path: Path) -> set[str]:
    """Names that a file has: columns, arrays or paths in it."""
    if path.suffix in (".h5", ".hdf5"):
        names: set[str] = set()
        with h5py.File(path) as file:
            file.visit(lambda name: names.add(f"/{name}"))
        return names
    if path.suffix == ".npz":
        with np.load(path) as file:
            return set(file.files)
    return (
        set(parquet.read_schema(path).names)
        if path.suffix == ".parquet"
        else set(path.read_text().split("\n")[0].strip().split(","))
    )


def test_every_layout_is_shown():
    assert list(SECTIONS) == list(WRITERS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", WRITERS)
def test_layout(tmp_path, monkeypatch, capsys, title):
    monkeypatch.chdir(tmp_path)
    name, write = WRITERS[title]
    write(tmp_path / name, made())
    tree, commands = re.findall(r"```(?:sh)?\n(.*?)```", SECTIONS[title], re.S)
    for line in tree.splitlines():
        path, _, shown = line.partition("  ")
        found = columns(tmp_path / path) if shown else set()
        assert {word.strip() for word in shown.split(",") if word} <= found
        assert (tmp_path / path).is_file()
    imported, checked, trained = commands.splitlines()
    assert main(shlex.split(imported)[1:]) == 0, capsys.readouterr().err
    assert main(shlex.split(checked)[1:]) == 0
    assert "episodes      4" in capsys.readouterr().out
    begun: list[str] = []
    monkeypatch.setattr("mvl.runs.training.train_experiment", lambda experiment, *_: begun.append(experiment.task.data))
    monkeypatch.setattr("mvl.plots.finish.finish", lambda run: "")
    assert main(shlex.split(trained)[1:]) == 0
    assert load(Path(begun[0])).observations.shape == (48, 2)
