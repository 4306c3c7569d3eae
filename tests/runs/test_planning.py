"""Planning from the run folder: in training, in evaluation, in a loaded policy, and without the data."""

import json
import shutil

import numpy as np
import pytest
from made_runs import TASK, write_walks

import mvl
from conftest import small_recipe
from mvl.cli import main
from mvl.data.dataset import Dataset
from mvl.errors import DamagedError, DataError, UsageError
from mvl.learn import checkpoint
from mvl.planning import storage
from mvl.planning.graph import Places
from mvl.planning.roadmap import Graph
from mvl.runs import metrics
from mvl.runs.training import resume

SCHEDULE = {"log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10, "eval_episodes": 1}
PLAN = {"plan": "graph", "plan_nodes": 40, "plan_steps": 3}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_walks(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "planned"
    return mvl.train(TASK, small_recipe(), run=path, data=data, seeds=2, steps=40, workers=1, **SCHEDULE, **PLAN)


def test_a_copied_folder_plans_without_its_data(run, data, tmp_path):
    expected = mvl.evaluate(run, episodes=1, workers=1, plan="graph")
    copied = shutil.copytree(run, tmp_path / "copied")
    hidden = shutil.move(data, tmp_path / "elsewhere")
    try:
        played = mvl.evaluate(copied, episodes=1, workers=1)
        policy = mvl.load_policy(copied, seed=1)
        assert policy.act(np.zeros(2), np.ones(2)).shape == (2,)
    finally:
        shutil.move(hidden, data)
    assert np.array_equal(played.lengths, expected.lengths)


def test_without_its_graph_the_data_is_read_again_and_gives_the_same_plans(run, tmp_path):
    copied = shutil.copytree(run, tmp_path / "copied")
    before = (copied / "graph.safetensors").read_bytes()
    (copied / "graph.safetensors").unlink()
    mvl.evaluate(copied, episodes=1, workers=1)
    assert (copied / "graph.safetensors").read_bytes() == before


def another_seed(run):
    """Give a run other parameters, at the same step."""
    arrays, notes = checkpoint.load_arrays(run / "checkpoint.safetensors")
    changed = {name: 2 * array if name.startswith("params") else array for name, array in arrays.items()}
    checkpoint.save(run / "checkpoint.safetensors", changed, {"sizes": notes["sizes"]})


def other_data(run):
    described = json.loads((run / "run.json").read_text())
    described["data"]["sha256"] = "0" * 64
    (run / "run.json").write_text(json.dumps(described))


def other_sizes(run):
    stored = storage.load(run / "graph.safetensors")
    wider = Places(*(np.hstack([array, array]) for array in stored.places))
    storage.save(run / "graph.safetensors", stored._replace(places=wider))


@pytest.mark.parametrize("change", [another_seed, other_data, other_sizes])
def test_the_graph_of_another_run_is_refused(change, run, tmp_path):
    copied = shutil.copytree(run, tmp_path / "copied")
    change(copied)
    with pytest.raises(DamagedError, match=r"graph.safetensors: it is the graph of another run; remove it, and it is made again"):
        mvl.load_policy(copied)


def test_resumed_it_equals_an_unbroken_run(run, data, tmp_path):
    path = tmp_path / "two"
    mvl.train(TASK, small_recipe(), run=path, data=data, seeds=2, steps=20, workers=1, **SCHEDULE, **PLAN)
    resume(path, steps=40, workers=1)
    assert metrics.read(path / "evaluations.jsonl") == metrics.read(run / "evaluations.jsonl")
    assert (path / "graph.safetensors").read_bytes() == (run / "graph.safetensors").read_bytes()


def test_a_policy_plans_each_row_and_anew_for_a_new_goal(run):
    policy, plain = mvl.load_policy(run), mvl.load_policy(run, plan="none")
    rows = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    goals = np.full((3, 2), 20.0, np.float32)
    together = policy.act(rows, goals)
    policy.reset()
    assert np.array_equal(policy.act(rows, goals), together)
    assert np.allclose(policy.act(rows[0], goals[0]), together[0], atol=1e-6)
    assert plain.act(rows, goals).shape == together.shape


@pytest.mark.parametrize("recipe", ["crl", "bc"])
def test_values_that_count_no_steps_are_refused_with_the_reason(recipe, data, tmp_path):
    run = mvl.train(TASK, small_recipe(recipe), run=tmp_path / "run", data=data, steps=20, workers=1, **SCHEDULE)
    with pytest.raises(UsageError, match="a plan needs a value that counts steps.*values that do: .*implicit_v"):
        mvl.evaluate(run, episodes=1, workers=1, plan="graph")


def test_commands_plan(run, tmp_path, capsys):
    main(["eval", str(run), "--plan", "graph", "--episodes", "1", "--workers", "1"])
    assert "overall" in capsys.readouterr().out
    main(["plot", "graph", str(run), "-o", str(tmp_path / "graph.png"), "--episodes", "1", "--task", "2"])
    assert (tmp_path / "graph.png").stat().st_size > 10_000


def test_episodes_too_short_to_calibrate_are_refused_before_a_run_is_made(data, tmp_path):
    with pytest.raises(DataError, match="no episode has 300 steps; plan with a smaller --plan-steps"):
        mvl.train(TASK, small_recipe(), run=tmp_path / "run", data=data, steps=20, **SCHEDULE, **PLAN | {"plan_steps": 300})
    assert not (tmp_path / "run").exists()


def test_episodes_too_short_to_calibrate_are_refused():
    data = Dataset.from_episodes([(np.zeros((3, 2)) + np.arange(3)[:, None], np.zeros((2, 1)))] * 2)
    with pytest.raises(DataError, match="no episode has 10 steps"):
        Places.draw(Graph(), data, data)
