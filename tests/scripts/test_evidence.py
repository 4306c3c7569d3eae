"""The script behind docs/results, at toy size: trains rows, survives being run twice, writes the table."""

import csv
import subprocess
import sys
from pathlib import Path

from conftest import walk, write_npz

SCRIPT = Path(__file__).parents[2] / "scripts" / "evidence.py"
TASK = "pointmaze-medium-navigate-v0"
ROWS = ["none", "mollified, weight 10, cost auto"]
TINY = ["--steps", "20", "--steps-per-dispatch", "10", "--log-every", "10", "--eval-every", "20", "--save-every", "20"]
TINY += ["--eval-episodes", "1", "--batch-size", "16", "--value.widths", "8", "8", "--policy.widths", "8", "8"]


def test_rows_become_a_table(tmp_path):
    for name, seed in ((f"{TASK}.npz", 0), (f"{TASK}-val.npz", 1)):
        write_npz(tmp_path / name, walk(seed=seed))
    places = ["--data", str(tmp_path), "--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    command = [sys.executable, str(SCRIPT), *places, "--seeds", "2", "--rows", *ROWS, "--", *TINY]
    first = subprocess.run(command, capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    with open(tmp_path / "results" / "pointmaze-medium-regularizers.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["recipe"] for row in rows] == ROWS
    assert rows[0]["steps"] == "20"
    assert rows[0]["paper"] == "0.78"
    assert (rows[0]["active"], rows[1]["active"] != "nan") == ("nan", True)
    made = (tmp_path / "runs" / "none" / "checkpoint.safetensors").stat().st_mtime_ns
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "runs" / "none" / "checkpoint.safetensors").stat().st_mtime_ns == made  # nothing trained twice
    assert again.stdout.splitlines()[-1] == first.stdout.splitlines()[-1]
