"""Held-out measures of runs without an environment: computed once, saved, and on other episodes."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import mvl
from conftest import small_recipe, walk, write_npz
from mvl.cli import main
from mvl.errors import DamagedError, DataError
from mvl.evaluation.held_out.measures import BEST, MEASURES
from mvl.recipes.recipe import Learning
from mvl.runs import judging
from mvl.runs.judging import Judged, measures_of, saved_measures

SHORT = {"steps": 20, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run of two seeds on a data file."""
    folder = tmp_path_factory.mktemp("judged")
    write_npz(folder / "walk-val.npz", walk(seed=1))
    data = write_npz(folder / "walk.npz", walk())
    return mvl.train(data, small_recipe(), run=folder / "run", seeds=2, first_seed=3, **SHORT)


@pytest.fixture
def unsaved(run):
    """The same run before its measures are saved."""
    (run / "held_out.json").unlink(missing_ok=True)
    return run


def test_a_run_without_an_environment_is_evaluated_by_its_held_out_data(unsaved):
    found = mvl.evaluate(unsaved)
    assert isinstance(found, Judged)
    assert (found.step, found.seeds, list(found.measures)) == (20, (3, 4), list(MEASURES))
    assert found.overall.shape == (2,)
    assert found.of(4)[BEST] == found.overall[1]
    for name, values in found.measures.items():
        low, high = (0, 1) if MEASURES[name].is_share else (-1, 1) if MEASURES[name].higher_is_better else (0, 4)
        assert ((low <= values) & (values <= high)).all()


def test_measures_are_computed_once_for_a_checkpoint(unsaved, monkeypatch):
    assert saved_measures(unsaved) is None
    assert measures_of(unsaved, save=False) is not None
    assert saved_measures(unsaved) is None
    first = measures_of(unsaved)
    known = saved_measures(unsaved)
    np.testing.assert_allclose(known.overall, first.overall)
    monkeypatch.setattr(judging, "judge", lambda run: Judged(99, (3, 4), first.measures))
    assert measures_of(unsaved).step == 20
    later = (unsaved / "held_out.json").stat().st_mtime + 1
    os.utime(unsaved / "checkpoint.safetensors", (later, later))
    assert measures_of(unsaved).step == 99


def test_measures_of_another_version_are_made_again(unsaved, monkeypatch):
    (unsaved / "held_out.json").write_text(json.dumps({"step": 20, "seeds": [3, 4], "measures": {"older": [1, 2]}}))
    monkeypatch.setattr(judging, "judge", lambda run: Judged(20, (3, 4), {BEST: np.array([0.5, 0.25])}))
    os.utime(unsaved / "checkpoint.safetensors", (0, 0))
    assert measures_of(unsaved).of(4) == {BEST: 0.25}
    (unsaved / "held_out.json").write_text("{}")
    with pytest.raises(DamagedError, match="not the measures of a run"):
        measures_of(unsaved)


def test_other_episodes_can_be_the_judge(unsaved, tmp_path, capsys):
    found = mvl.evaluate(unsaved, data=write_npz(tmp_path / "new.npz", walk(seed=2)))
    assert found.measures["action-error"].tolist() != measures_of(unsaved).measures["action-error"].tolist()
    with pytest.raises(DataError, match="other dimensions"):
        mvl.evaluate(unsaved, data=walk(dimensions=3))
    assert main(["eval", str(unsaved), "--data", str(tmp_path / "new.npz"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[1] == {"step": 20, "seed": 4, "measures": found.of(4)}


def test_policies_with_a_history_and_chunks_are_judged(data_file, tmp_path):
    recipe = small_recipe("gcivl", learning=Learning(batch_size=16, history=2, chunk=2))
    path = mvl.train(data_file, recipe, run=tmp_path / "run", **SHORT)
    assert list(mvl.evaluate(path).measures) == list(MEASURES)
