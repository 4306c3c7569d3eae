"""A report as text: what it says, that it says it safely, and that it needs nothing from elsewhere."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from reported import reported_run
from untrained import untrained

from conftest import small_recipe
from mvl.cli import main
from mvl.report.page import _names


def written(tmp_path: Path, *runs: Path, films: bool = False) -> str:
    to = tmp_path / "report.html"
    assert main(["report", *map(str, runs), "-o", str(to), *([] if films else ["--no-videos"])]) == 0
    return to.read_text()


def text(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def test_one_run(tmp_path, capsys):
    page = written(tmp_path, reported_run(tmp_path / "run"))
    words = text(page)
    assert "gcivl-mvl on pointmaze-medium-navigate-v0" in words
    assert "mean of the evaluations at steps 1,000, 2,000, 3,000" in words
    assert "overall 0.25 [0.00, 0.89] 0.70 ± 0.02 0.20 0.30" in words  # 0.25 +- 12.706 x 0.05, the paper's cell, the seeds
    assert "3,000 of 1,000,000 steps" in words
    assert "regularizer mollified (weight 10" in words
    assert "rank correlation" in words
    assert "value loss over steps" in page
    assert "mean value" not in page  # NaN is no curve
    assert "They were left out." in words
    assert "trained from Python on arrays" in words
    assert "regularizer.viscosity 0.01" in words
    assert "jax" in words
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'report.html'}: 0.")


def test_nothing_comes_from_elsewhere(tmp_path):
    page = written(tmp_path, reported_run(tmp_path / "run"))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.findall(r"https?://|url\(|@import", page)
    assert "style=" not in page  # the policy would not let it through
    assert {place.partition(":")[0] for place in re.findall(r'(?:src|href)="([^"#]+)"', page)} == {"data"}


def test_texts_of_a_run_are_escaped(tmp_path):
    run = reported_run(tmp_path / "<img src=x onerror=alert(1)>")
    told = json.loads((run / "run.json").read_text())
    told["versions"]["jax"] = "<script>alert(2)</script>"
    (run / "run.json").write_text(json.dumps(told))
    page = written(tmp_path, run)
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(2)&lt;/script&gt;" in page


def test_signs_of_a_bad_training_are_shown(tmp_path):
    run = reported_run(tmp_path / "run")
    assert "Warning" not in text(written(tmp_path, run))
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"step": 3000, "seed": 0, "value/loss": 4e32}) + "\n")
    (tmp_path / "report.html").unlink()
    assert "Warning: value/loss explodes: it is 4e+32 at step 3000; train again with a lower" in text(written(tmp_path, run))


def test_several_runs_are_compared(tmp_path):
    one, two = reported_run(tmp_path / "a" / "run"), reported_run(tmp_path / "b" / "run", "bc", seeds=1)
    page = written(tmp_path, one, two)
    words = text(page)
    assert "2 runs on pointmaze-medium-navigate-v0" in words
    assert "Highest success: a/run, 0.25 [0.00, 0.89]." in words
    assert re.search(r"a/run gcivl-mvl 3,000 2 0.25 \[0.00, 0.89\] 0.70 ± 0.02", words)
    assert re.search(r"b/run bc 3,000 1 0.20 - - - -", words)  # no interval, no cell in the paper, no value
    places = re.findall(r' id="([^"]+)"', page)
    assert len(places) == len(set(places))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(places)
    assert {"line mvl0", "line base0"} <= set(re.findall(r'class="(line \w+)"', page))


def test_what_is_not_there_is_told(tmp_path):
    """A run without evaluations, curves, simulator and data has a page, too."""
    run = untrained(tmp_path / "run", small_recipe("bc"), task="walk.npz", simulated=False)
    words = text(written(tmp_path, run, films=True))
    assert "There is no environment to evaluate in." in words
    assert "Nothing has been measured yet." in words
    assert "It learns no value." in words
    assert "walk.npz, which has no environment to film" in words
    (run / "checkpoint.safetensors").unlink()
    (tmp_path / "report.html").unlink()
    assert "There is no checkpoint yet." in text(written(tmp_path, run))


def test_nothing_is_replaced_unasked(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    earlier = tmp_path / "report.html"
    earlier.write_text("mine")
    run = str(untrained(tmp_path / "run", small_recipe("bc"), task="walk.npz", simulated=False))
    assert main(["report", run]) == 1
    assert "report.html exists already; choose another name, or replace it with --overwrite" in capsys.readouterr().err
    assert main(["report", run, str(tmp_path / "none"), "--overwrite"]) == 1
    assert "is not a run folder" in capsys.readouterr().err
    assert earlier.read_text() == "mine"
    assert main(["report", run, "--overwrite"]) == 0
    assert earlier.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("runs", "names"),
    [(["a/x", "b/y"], ["x", "y"]), (["a/x", "b/x"], ["a/x", "b/x"]), (["a/x", "a/x"], None)],
)
def test_runs_are_told_apart(runs, names, tmp_path):
    found = _names([tmp_path / run for run in runs])
    assert found == names if names else len(set(found)) == len(runs)
