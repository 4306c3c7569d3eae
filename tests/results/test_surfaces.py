"""Geometry of the surfaces behind a table."""

import csv
import io
import os

import pytest
from made_runs import TASK, experiment, made_run

from mvl.cli import main
from mvl.errors import MvlError
from mvl.results import surfaces
from mvl.results.geometry import Geometry
from mvl.studies.job import folder_of


def test_surfaces_stand_beside_success(tmp_path, monkeypatch, capsys):
    """Of a value, and of imitation, which has no surface."""
    for recipe in ("gcivl", "bc"):
        of = experiment(recipe)
        for seed in (0, 1):
            made_run(folder_of(of, tmp_path) / f"seeds-{seed}", of, [seed], 0.5)
    ask = lambda run: Geometry(0.5 + 0.2 * int(run.name[-1]), 1, 1, 1, 0, 0) if run.parent.name == "gcivl" else None
    monkeypatch.setattr(surfaces, "surface_of", ask)
    command = ["sweep", "--preset", "cpu", "--tasks", TASK, "--recipes", "gcivl", "bc", "--seeds", "2", "--store", str(tmp_path)]
    assert main([*command, "--surfaces", "--to", str(tmp_path / "to")]) == 0
    out = capsys.readouterr().out
    assert "measuring surfaces: 2/2" in out
    assert f"{TASK}  gcivl   50 [50, 50]  0.60  1.00" in out
    assert f"| {TASK} | gcivl | 50 [50, 50] | 0.60 |" in (tmp_path / "to" / "sweep-surfaces.md").read_text()
    (row,) = csv.DictReader(io.StringIO((tmp_path / "to" / "sweep-surfaces.csv").read_text()))
    assert (row["seeds"], row["mean"], float(row["rank_correlation"])) == ("2", "50.00", pytest.approx(0.6))
    assert main(["sweep", "--preset", "cpu", "--tasks", TASK, "--recipes", "bc", "--store", str(tmp_path), "--surfaces"]) == 0
    assert "has a value function over a maze" in capsys.readouterr().out


def test_a_surface_is_measured_once_for_a_checkpoint(tmp_path, monkeypatch):
    """And known after the checkpoint is gone; never guessed."""
    asked = []
    monkeypatch.setattr(surfaces, "geometry", lambda run, bound: (asked.append(run), Geometry(len(asked), 1, 1, 1, 0, 0))[1])
    assert surfaces.surface_of(tmp_path) is None
    checkpoint = tmp_path / "checkpoint.safetensors"
    checkpoint.write_bytes(b"weights")
    assert surfaces.surface_of(tmp_path) == surfaces.surface_of(tmp_path) == Geometry(1, 1, 1, 1, 0, 0)
    later = (tmp_path / "surface.json").stat().st_mtime + 10
    checkpoint.unlink()
    assert surfaces.surface_of(tmp_path).rank_correlation == 1
    checkpoint.write_bytes(b"others")
    os.utime(checkpoint, (later, later))  # trained further
    assert surfaces.surface_of(tmp_path).rank_correlation == 2
    assert len(asked) == 2


def test_a_surface_is_not_written_through_a_link(tmp_path, monkeypatch):
    monkeypatch.setattr(surfaces, "geometry", lambda run, bound: Geometry(1, 1, 1, 1, 0, 0))
    (tmp_path / "outside").write_text("mine")
    os.utime(tmp_path / "outside", (0, 0))
    (tmp_path / "surface.json").symlink_to(tmp_path / "outside")
    (tmp_path / "checkpoint.safetensors").write_bytes(b"weights")
    with pytest.raises(MvlError, match="surface.json is a symbolic link"):
        surfaces.surface_of(tmp_path)
    assert (tmp_path / "outside").read_text() == "mine"
    assert (tmp_path / "surface.json").is_symlink()
