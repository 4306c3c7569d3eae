"""More demonstrations later: a new run that starts from a trained one."""

import json
import shutil

import jax
import numpy as np
import pytest

import mvl
from conftest import small_recipe, walk, write_npz
from mvl.cli import main
from mvl.errors import DataError, MvlError, UsageError
from mvl.runs import metrics
from mvl.runs.data import data_of
from mvl.runs.folder import RunFolder
from mvl.runs.more import train_more
from mvl.runs.restore import restore
from mvl.runs.session import Session
from mvl.runs.training import resume, train
from mvl.studies.job import is_run_of

SCHEDULE = {"steps": 20, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a run of two seeds, its data, and more data, whose states are elsewhere."""
    folder = tmp_path_factory.mktemp("more")
    for name, seed, episodes in (("walk", 0, 6), ("walk-val", 1, 2), ("more", 2, 4), ("more-val", 3, 2)):
        write_npz(folder / f"{name}.npz", walk(episodes=episodes, seed=seed))
    train(folder / "walk.npz", small_recipe(), run=folder / "run", seeds=2, **SCHEDULE)
    return folder


@pytest.fixture(scope="module")
def child(trained):
    return train_more(trained / "run", trained / "more.npz", run=trained / "child", steps=40, learning_rate=1e-4)


def params(run):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(restore(run)[2].params)]


def test_it_names_its_parent_and_keeps_its_normalization(trained, child):
    parent, description = (RunFolder.open(run)[1] for run in (trained / "run", child))
    described = json.loads((child / "run.json").read_text())["parent"]
    assert described == {
        "run": str(trained / "run"),
        "step": 20,
        "changes": {"learning_rate": "0.0001", "steps": "40"},
    }
    assert description.normalization == parent.normalization
    assert description.normalization is not None
    assert description.experiment.seeds == (0, 1)
    assert [file["path"] for file in description.data["added"]] == [str(trained / "more.npz")]


def test_it_trains_on_the_old_and_the_new_data(trained, child):
    train_data, held_out = data_of(RunFolder.open(child)[1], None, child)
    assert len(train_data.ends) == 6 + 4
    assert len(held_out.ends) == 2 + 2
    assert [row["step"] for row in metrics.read(child / "metrics.jsonl")] == [10, 10, 20, 20, 30, 30, 40, 40]


@pytest.fixture
def killed(monkeypatch):
    """Trainings end before their first step."""
    with monkeypatch.context() as patch:
        patch.setattr(Session, "run", lambda self, state: None)
        yield patch


def test_it_starts_with_the_parameters_of_its_parent(trained, child, killed, tmp_path):
    run = train_more(trained / "run", trained / "more.npz", run=tmp_path / "run")
    assert all(np.array_equal(*pair) for pair in zip(params(run), params(trained / "run"), strict=True))
    assert not all(np.array_equal(*pair) for pair in zip(params(run), params(child), strict=True))
    assert int(restore(run)[2].step[0]) == 0


def test_stopped_and_resumed_equals_unbroken_without_its_parent(trained, child, killed, tmp_path):
    run = train_more(trained / "run", trained / "more.npz", run=tmp_path / "run", steps=40, learning_rate=1e-4)
    killed.undo()
    moved = trained / "elsewhere"
    (trained / "run").rename(moved)
    try:
        resume(run)
    finally:
        moved.rename(trained / "run")
    for file in ("checkpoint.safetensors", "metrics.jsonl", "evaluations.jsonl"):
        assert (run / file).read_bytes() == (child / file).read_bytes()


def test_the_command_says_what_it_changed(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(trained)
    words = ["train", "more.npz", "--from", "run", "--run", str(tmp_path / "new"), "--held-out", "0.25", "--steps", "10"]
    assert main([*words, "--eval-every", "10", "--save-every", "10"]) == 0
    err = capsys.readouterr().err
    assert f"starts from {trained / 'run'}, step 20, with its normalization\n" in err
    assert "episodes: 6 + 3 (120 + 60 transitions), and 2 + 1 held out\n" in err
    assert "steps 20 -> 10" in err
    command = RunFolder.open(tmp_path / "new")[1].command
    assert command.startswith(f"mvl train more.npz --from {trained / 'run'} --held-out 0.25 --steps 10 --eval-every 10")


def test_a_third_batch_can_be_added(child, killed, tmp_path):
    write_npz(tmp_path / "third.npz", walk(episodes=10, seed=4))
    path = train_more(child, tmp_path / "third.npz", run=tmp_path / "run", held_out=0.1)
    description = RunFolder.open(path)[1]
    assert len(data_of(description, None, path)[0].ends) == 6 + 4 + 9
    assert description.parent["run"] == str(child)


def test_it_is_no_run_of_the_experiment_that_started_anew(trained, child):
    description = RunFolder.open(child)[1]
    assert not is_run_of(description.experiment, description)


def test_other_data_and_other_networks_are_refused_before_anything_is_written(trained, tmp_path):
    new = tmp_path / "new"
    for name in ("wide.npz", "wide-val.npz"):
        write_npz(tmp_path / name, walk(dimensions=3))
    with pytest.raises(DataError, match="observations have 3 dimensions"):
        train_more(trained / "run", tmp_path / "wide.npz", run=new)
    with pytest.raises(UsageError, match="these settings change the networks of .*policy"):
        train_more(trained / "run", trained / "more.npz", run=new, **{"policy.widths": "32"})
    with pytest.raises(UsageError, match="know one normalization, which is kept"):
        train_more(trained / "run", trained / "more.npz", run=new, normalize=False)
    with pytest.raises(MvlError, match="exists already and is not empty"):
        train_more(trained / "run", trained / "more.npz", run=trained / "run")
    untrained = shutil.copytree(trained / "run", tmp_path / "untrained", ignore=shutil.ignore_patterns("checkpoint*"))
    with pytest.raises(UsageError, match="has no checkpoint yet; train it first"):
        train_more(untrained, trained / "more.npz", run=new)
    assert not new.exists()


def test_options_that_the_parent_decides_are_refused(trained, capsys):
    words = ["train", str(trained / "more.npz"), "--from", str(trained / "run")]
    for option, value in (("--recipe", "hiql"), ("--seeds", "3"), ("--regularizer", "eikonal")):
        assert main([*words, option, value]) == 2
        assert f"a run that starts from another has its {option[2:]} already" in capsys.readouterr().err
    assert main(["train", "pointmaze-medium-navigate-v0", "--from", str(trained / "run")]) == 2
    assert "mvl train MORE.npz --from RUN" in capsys.readouterr().err


def test_its_policy_acts(trained, child):
    policy = mvl.load_policy(child)
    assert policy.act(np.zeros(2), np.ones(2)).shape == (2,)
    assert mvl.train_more is train_more
