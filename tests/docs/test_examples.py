"""The example scripts run as their first lines say, with --quick, and fit on a screen."""

import runpy
import sys

import pytest
from pages import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PRINTED = {
    "train_and_plan": ["with a plan, success by task: [", "there is a path: "],
    "own_robot_data": ["wrote made/here/arm.npz", "model-success", "action ["],
    "own_regularizer": ["Pairwise {'regularizer/", "Mollified {'regularizer/"],
    "serve_and_drive": ["episode 0: "],
    "equinox_value": ["step 20: loss "],
}


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """Run a script with arguments, in an empty folder; modules that it imports from its own are forgotten."""
    before, paths = set(sys.modules), list(sys.path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))

    def run(script, *words):
        monkeypatch.setattr(sys, "argv", [str(script), *words])
        runpy.run_path(str(script), run_name="__main__")

    yield run
    sys.path[:] = paths
    for name in set(sys.modules) - before:
        if str(ROOT / "examples") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_every_example_is_listed_and_short():
    listed = (ROOT / "examples" / "README.md").read_text()
    assert {path.stem for path in EXAMPLES} == set(PRINTED)
    for path in EXAMPLES:
        assert f"[{path.name}]({path.name})" in listed
        assert len(path.read_text().splitlines()) <= 60


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, typed, capsys):
    to = [] if path.stem == "equinox_value" else ["--to", "made/here"]
    typed(path, *to, "--quick")
    printed = capsys.readouterr().out
    for text in PRINTED[path.stem]:
        assert text in printed
