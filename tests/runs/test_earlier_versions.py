"""Runs made by version 0.1, kept as they were: they still resume, evaluate, report and act."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import mvl
from mvl.cli import main
from mvl.runs import metrics

FIXTURES = Path(__file__).parents[1] / "fixtures" / "version-0.1"


@pytest.fixture
def kept(tmp_path) -> Path:
    """The runs with their data, whose path is the only thing that has changed."""
    folder = shutil.copytree(FIXTURES, tmp_path / "kept")
    for file in folder.glob("*/run.json"):
        described = json.loads(file.read_text())
        described["data"]["path"] = str(folder / described["data"]["path"])
        file.write_text(json.dumps(described, indent=2) + "\n")
    return folder


@pytest.mark.parametrize(("name", "steps"), [("point", 400), ("arm", 200)])
def test_resuming_goes_on_with_the_same_numbers(kept, name, steps):
    assert main(["train", "--resume", str(kept / name), "--steps", str(steps), "--workers", "1"]) == 0
    found, expected = (metrics.read(path) for path in (kept / name / "metrics.jsonl", kept / f"{name}-{steps}-metrics.jsonl"))
    assert [row["step"] for row in found] == [row["step"] for row in expected]
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=0.02, abs=1e-3)  # other processors add in another order


def test_evaluation_and_report(kept, capsys):
    assert main(["eval", str(kept / "point"), "--episodes", "1", "--json", "--workers", "1"]) == 0
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(row["step"], row["seed"], len(row["tasks"])) for row in rows] == [(200, 0, 5), (200, 1, 5)]
    page = kept / "page.html"
    assert main(["report", str(kept / "point"), str(kept / "arm"), "-o", str(page), "--no-videos"]) == 0
    text = page.read_text()
    assert "pointmaze-medium-navigate-v0" in text
    assert "mvl train arm.npz --recipe bc" in text


def test_the_policies_act_as_they_did(kept):
    point, arm = (mvl.load_policy(kept / name) for name in ("point", "arm"))
    assert point.act([0.1, 0.2], [0.5, 0.5]) == pytest.approx([0.06843303, 0.03222434], abs=1e-5)
    assert point.value([[0.1, 0.2]], [[3, 3]]) == pytest.approx(np.array([-2.1621423]), abs=1e-4)
    assert arm.act([0.1, 0.2], [0.5, 0.5]) == pytest.approx([0.00049148, 0.00063536], abs=1e-6)  # in the data's units
