"""Runs on images: trained, resumed, read from disk, evaluated, loaded and planned with; nothing else than for numbers."""

import json

import numpy as np
import pytest
from pictures import SHAPE, dot, eye, make_dots, pictured

import mvl
from conftest import small_recipe
from mvl.cli import main
from mvl.errors import UsageError
from mvl.plots.episodes import value_along_episodes
from mvl.recipes.recipe import Learning
from mvl.runs import metrics
from mvl.runs.training import resume

SHORT = {"log_every": 10, "eval_every": 20, "save_every": 10, "steps_per_dispatch": 10, "eval_episodes": 2, "workers": 1}


def recipe(fusion: str = "early"):
    return small_recipe("gcivl-mvl", encoder=eye(fusion), learning=Learning(batch_size=8))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Training and validation files of the moving square."""
    folder = tmp_path_factory.mktemp("images")
    for name, seed in (("dots", 0), ("dots-val", 1)):
        data = pictured(seed=seed)
        images, ends = data.observations.reshape(-1, *SHAPE), np.isin(np.arange(len(data.actions)), data.ends)
        np.savez(folder / f"{name}.npz", observations=images, actions=data.actions.ravel().astype(int), terminals=ends)
    return folder / "dots.npz"


@pytest.fixture(scope="module")
def run(file):
    task = mvl.Task(env=make_dots, data=file, images=True)
    return mvl.train(task, recipe(), run=file.parent / "run", steps=20, **SHORT)


def test_a_run_knows_its_images_and_plays_in_their_environment(run):
    described = json.loads((run / "run.json").read_text())
    assert described["shapes"]["image"] == list(SHAPE)
    assert described["shapes"]["levels"] == [8]
    assert described["data"]["observations"] is None
    assert described["recipe"]["encoder"]["fusion"] == "early"
    assert described["recipe"]["learning"]["normalize"] is False
    assert described["own_task"]["images"] is True
    assert 0 <= metrics.read(run / "evaluations.jsonl")[-1]["overall"] <= 1


def test_a_resumed_run_and_one_that_reads_from_disk_are_equal_bit_for_bit(run, file):
    task = mvl.Task(env=make_dots, data=file, images=True)
    half = mvl.train(task, recipe(), run=file.parent / "half", steps=10, **{**SHORT, "eval_every": 10})
    resume(half, steps=20, workers=1)
    disk = mvl.train(task, recipe(), run=file.parent / "disk", steps=20, out_of_core=True, **SHORT)
    expected = metrics.read(run / "metrics.jsonl")
    assert metrics.read(half / "metrics.jsonl") == expected
    for found, wanted in zip(metrics.read(disk / "metrics.jsonl"), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-5)


def test_a_policy_takes_images_or_their_bytes(run):
    policy = mvl.load_policy(run)
    one = policy.act(dot(0), dot(5))
    assert one.shape == (1,)
    assert one[0] in range(8)
    many = policy.act(np.stack([dot(0), dot(3)]), np.stack([dot(5), dot(5)]))
    assert many.shape == (2, 1)
    assert many[0] == policy.act(dot(0).ravel(), dot(5).ravel())
    assert policy.value(dot(0), dot(5)).shape == ()
    with pytest.raises(UsageError, match="its last axis must have length 192"):
        policy.act(np.zeros((8, 8)), dot(5))


def test_commands_on_a_run_of_images(run, capsys, tmp_path):
    value_along_episodes(run, tmp_path / "value.png")
    assert (tmp_path / "value.png").stat().st_size > 5000
    assert main(["eval", str(run), "--plan", "graph", "--parts", "pictures"]) == 2
    assert "early fusion encodes every pair anew" in capsys.readouterr().err


def test_a_run_with_late_fusion_plans_and_one_without_an_environment_is_not_judged(file, capsys):
    learned = mvl.train(file, recipe("late"), run=file.parent / "late", steps=10, **{**SHORT, "eval_every": 10})
    policy = mvl.load_policy(learned, plan="graph")
    assert policy.act(dot(0), dot(5)).shape == (1,)
    assert main(["eval", str(learned)]) == 1
    assert "held-out measures do not know" in capsys.readouterr().err
