import numpy as np
import pytest
from matplotlib.image import imread
from untrained import untrained

import mvl
from conftest import small_recipe, walk, write_npz
from mvl.errors import DamagedError, UsageError
from mvl.plots.episodes import _plane, value_along_episodes
from mvl.plots.finish import finish
from mvl.results.statistics import estimate
from mvl.results.success import success_table
from mvl.runs.evaluation import reported


def test_estimate_by_hand():
    """Three seeds: mean +- 4.303 s / sqrt(3)."""
    result = estimate([0.4, 0.5, 0.6])
    half = 4.30265 * 0.1 / np.sqrt(3)
    assert result.mean == pytest.approx(0.5)
    assert result.low == pytest.approx(0.5 - half, abs=1e-5)
    assert result.high == pytest.approx(0.5 + half, abs=1e-5)
    assert estimate([1.0, 0.5]).high == 1.0
    assert estimate([0.7]) == (0.7, 0.0, 1.0)
    assert str(estimate([0.5, 0.5])) == "0.50 [0.50, 0.50]"


def test_reported_success_is_the_mean_of_the_last_three_evaluations():
    rows = [
        {"seed": seed, "step": step, "overall": step / 10 + seed, "tasks": [step / 10]} for step in range(1, 6) for seed in (0, 1)
    ]
    result = reported(rows)
    assert result[0]["overall"] == pytest.approx((0.3 + 0.4 + 0.5) / 3)
    assert result[1]["overall"] == pytest.approx(1.4)
    assert result[0]["steps"] == [3, 4, 5]
    assert result[0]["tasks"] == pytest.approx([0.4])


def test_success_table():
    table = success_table({3: {"tasks": [1.0, 0.5], "overall": 0.75}, 4: {"tasks": [0.0, 0.5], "overall": 0.25}})
    assert [line.split() for line in table.splitlines()] == [
        ["task", "1", "task", "2", "overall"],
        ["seed", "3", "1.00", "0.50", "0.750"],
        ["seed", "4", "0.00", "0.50", "0.250"],
        ["mean", "0.50", "0.50", "0.500"],
    ]
    named = success_table({0: {"tasks": [1.0, 0.5], "overall": 0.75}}, ("kettle", "slide cabinet"))
    assert named.splitlines() == ["          kettle  slide cabinet   overall", "seed 0      1.00           0.50     0.750"]


def test_a_trained_maze_run_is_evaluated_and_drawn(tmp_path):
    """The whole way through the real environment, at toy size: train, evaluate, picture, words, evaluate again."""
    task = "pointmaze-medium-navigate-v0"
    for name, seed in ((f"{task}.npz", 0), (f"{task}-val.npz", 1)):
        write_npz(tmp_path / name, walk(seed=seed))
    schedule = {"steps": 20, "log_every": 10, "eval_every": 10, "save_every": 20, "eval_episodes": 1, "steps_per_dispatch": 10}
    run = mvl.train(task, small_recipe(), run=tmp_path / "run", data=tmp_path, seeds=2, workers=2, **schedule)
    words = finish(run)
    assert "mean of the evaluations at steps 10, 20" in words
    picture = imread(run / "value.png")
    assert picture.shape[0] > 200
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 500  # contours, not a blank
    one, two = (mvl.evaluate(run, episodes=1, seed=4, workers=workers) for workers in (1, 2))
    assert one.success.shape == (2, 5, 1)
    assert (one.lengths == two.lengths).all()
    assert (one.success == two.success).all()


def test_a_run_whose_evaluations_are_lost_is_still_finished(tmp_path, monkeypatch):
    monkeypatch.setattr("mvl.plots.finish.draw", lambda run, to, description: [])
    run = untrained(tmp_path / "run", small_recipe())
    words = finish(run)
    assert f"there are no evaluations in {run / 'evaluations.jsonl'}; evaluate it with: mvl eval {run}" in words
    (run / "evaluations.jsonl").write_text('{"step": 10, "seed"')
    with pytest.raises(DamagedError, match="evaluations.jsonl, line 1: not a JSON object"):
        finish(run)


def test_a_value_is_drawn_without_a_simulator(data_file, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ogbench", None)  # importing it fails
    schedule = {"steps": 20, "log_every": 10, "eval_every": 10, "save_every": 20, "steps_per_dispatch": 10}
    run = mvl.train(data_file, small_recipe(), run=tmp_path / "run", **schedule)
    words = finish(run)
    assert "no environment to evaluate in" in words
    assert f"value along held-out episodes: {run / 'value.png'}" in words
    picture = imread(run / "value.png")
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 100
    imitator = mvl.train(data_file, small_recipe("bc"), run=tmp_path / "bc", **schedule)
    assert "value along" not in finish(imitator)
    with pytest.raises(UsageError, match="learns no value to draw"):
        value_along_episodes(imitator, tmp_path / "no.png")


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_states_of_any_size_are_laid_in_a_plane(dimensions):
    data = walk(dimensions=dimensions)
    flatten, names = _plane(data)
    flat = flatten(data.observations)
    assert flat.shape == (len(data.observations), 2)
    assert len(names) == 2
    if dimensions == 2:
        assert np.array_equal(flat, data.observations)
    if dimensions == 5:
        spreads = flat.var(axis=0)
        scaled = (data.observations - data.observations.mean(axis=0)) / data.observations.std(axis=0)
        largest = np.sort(np.linalg.eigvalsh(np.cov(scaled.T)))[::-1][:2]
        assert spreads == pytest.approx(largest, rel=0.05)
