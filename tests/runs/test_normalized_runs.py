"""Normalized runs: independent of units, restored as they were, with a planner, from memory and from disk."""

import json
from dataclasses import replace

import numpy as np
import pytest

import mvl
from conftest import small_recipe, walk, write_npz
from mvl.data.dataset import Dataset
from mvl.data.goals import on_device
from mvl.data.normalization import Normalization
from mvl.learn.learner import Learner
from mvl.learn.loop import dispatches, initial_state
from mvl.regularizers.mollified import Mollified
from mvl.results.geometry import own_bound
from mvl.runs import metrics
from mvl.runs.data import shapes_of, statistics_of

SHORT = {"steps": 20, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10}
DEGREES = np.float32(180 / np.pi)


def joints() -> Dataset:
    """An arm in radians: joints that move by different amounts, and one that does not move at all."""
    data = walk(dimensions=3)
    still = np.full((len(data.observations), 1), 0.3)
    return replace(data, observations=np.hstack([data.observations * [1, 0.1, 3] + 0.5, still], dtype=np.float32))


def losses(data: Dataset, name: str) -> dict[str, np.ndarray]:
    normalization = Normalization.of(data)
    regularizer = replace(small_recipe(name).regularizer, cost="auto", scale="std")
    recipe = small_recipe(name, regularizer=regularizer)
    learner = Learner(recipe.fit(statistics_of(data, normalization)), shapes_of(data), normalization)
    rows = on_device(data, normalization)
    _, columns = next(dispatches(learner, initial_state(learner, [0]), rows, 100, 100))
    return {key: column for key, column in columns.items() if key.endswith("/loss")}


@pytest.mark.parametrize("name", ["gcivl-mvl", "gcivl-slope", "dual-mvl"])
def test_radians_and_degrees_train_alike(name):
    radians = joints()
    one, other = losses(radians, name), losses(replace(radians, observations=radians.observations * DEGREES), name)
    assert set(one) == set(other)
    for key, column in one.items():
        assert np.allclose(column, other[key], rtol=1e-4, atol=1e-4), key


def test_lengths_are_in_standardized_units():
    data = walk()
    tenfold = replace(data, observations=10 * data.observations)
    found = statistics_of(tenfold, Normalization.of(tenfold))
    assert found.std == pytest.approx((1.0, 1.0), rel=1e-5)
    assert found.step == pytest.approx(data.statistics.scaled_step, rel=1e-5)
    assert found.scaled_step == pytest.approx(data.statistics.scaled_step, rel=1e-5)


def test_own_data_is_normalized_unless_switched_off(data_file, tmp_path):
    runs = [mvl.train(data_file, small_recipe("bc"), run=tmp_path / f"{n}", normalize=n, **SHORT) for n in (None, False)]
    described = [json.loads((run / "run.json").read_text()) for run in runs]
    assert Normalization.from_json(described[0]["normalization"]) == Normalization.of(walk())
    assert described[1]["normalization"] is None
    assert [one["recipe"]["learning"]["normalize"] for one in described] == [True, False]
    assert metrics.read(runs[0] / "metrics.jsonl") != metrics.read(runs[1] / "metrics.jsonl")


def test_a_normalized_policy_gets_raw_numbers(tmp_path):
    """The same demonstrations in other units: the loaded policies do the same in the same place, also with a plan."""
    actions = []
    for number, scale in enumerate((1.0, 100.0)):
        file = write_npz(tmp_path / f"{number}.npz", replace(walk(), observations=walk().observations * np.float32(scale)))
        run = mvl.train(file, small_recipe(), run=tmp_path / f"run{number}", held_out=0.2, plan_steps=3, plan_nodes=20, **SHORT)
        states, goals = scale * np.random.default_rng(0).normal(size=(2, 5, 2))
        policies = mvl.load_policy(run), mvl.load_policy(run, plan="graph")
        actions.append([*(policy.act(states, goals) for policy in policies), policies[0].value(states, goals)])
    for one, other in zip(*actions, strict=True):
        assert np.allclose(one, other, rtol=1e-3, atol=1e-3)


def test_a_runs_own_bound_is_measured_in_raw_units():
    data = walk()
    normalization = Normalization.of(data)
    learner = Learner(small_recipe(regularizer=Mollified(cost=2.0)), shapes_of(data), normalization)
    assert own_bound(learner) == Mollified(cost=2.0, scale=normalization.observations.std)
    assert own_bound(replace(learner, normalization=None)) == Mollified(cost=2.0)
