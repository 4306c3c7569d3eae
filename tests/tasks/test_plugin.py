"""A family of tasks in one file, installed as a plug-in, goes through every command."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SHORT = "--steps 100 --steps-per-dispatch 50 --eval-every 50 --log-every 50 --save-every 50 --eval-episodes 2 --batch-size 16"
SMALL = "--value.widths 8 8 --policy.widths 8 8"


@pytest.fixture(scope="module")
def mvl(tmp_path_factory):
    """The command in a folder of its own, with the family installed; returns what it printed."""
    folder = tmp_path_factory.mktemp("plugin")
    site = folder / "site"
    (site / "plane-1.0.dist-info").mkdir(parents=True)
    (site / "plane-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: plane\nVersion: 1.0\n")
    (site / "plane-1.0.dist-info" / "entry_points.txt").write_text("[mvl.task]\nplane = plane_family:tasks\n")
    shutil.copy(HERE / "plane_family.py", site)
    paths = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))

    def run(command: str, code: int = 0) -> str:
        words = [sys.executable, "-m", "mvl", *command.split()]
        done = subprocess.run(words, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    run.folder = folder
    return run


def test_it_is_listed_generated_trained_evaluated_and_drawn(mvl):
    assert "plane-walk-v0" in mvl("data list")
    assert "wrote data/plane-walk-v0.npz" in mvl("data generate plane-walk-v0 --data data --episodes 8 --workers 1")
    printed = mvl(f"train plane-walk-v0 --data data --run run --workers 1 {SHORT} {SMALL}")
    assert "success, mean of the evaluations" in printed
    described = json.loads((mvl.folder / "run" / "run.json").read_text())
    assert described["recipe"]["regularizer"]["viscosity"] == 0.02  # the family's published settings
    assert described["recipe"]["learning"]["discount"] == 0.97
    (row,) = json.loads(mvl("eval run --episodes 3 --json --workers 1").splitlines()[0])
    assert len(row["tasks"]) == 3
    assert row["mean_length"] <= 30
    mvl("plot field run -o field.png")
    mvl("report run -o report.html --no-videos")
    assert (mvl.folder / "field.png").stat().st_size > 1000
    assert "plane-walk-v0" in (mvl.folder / "report.html").read_text()
    table = mvl(f"sweep --tasks plane-walk --recipes bc gcivl --data data --seeds 1 --store store -- {SHORT}")
    assert "2 finished runs" in table


def test_a_name_close_to_it_is_answered(mvl):
    assert "did you mean" in mvl("train plane-wolk-v0", code=2)
