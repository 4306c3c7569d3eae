"""The shape of a value on held-out data, for values that are known."""

import jax.numpy as jnp
import numpy as np
import pytest

from conftest import small_recipe, walk, write_npz
from mvl.cli import main
from mvl.data.dataset import Dataset
from mvl.results.shape import measure
from mvl.runs.training import train


class Known:
    """A learner whose value is a given function of states and goals."""

    def __init__(self, function):
        self.function = function

    def values(self, params, states, goals, key):
        return self.function(states, goals)


@pytest.fixture
def line() -> Dataset:
    """Four episodes of 30 steps along the first axis, half a unit per step."""
    steps = np.arange(31)
    episode = np.stack([0.5 * steps, np.full(31, 2.0)], axis=1)
    return Dataset.from_episodes([(episode + np.array([0, number]), np.zeros((31, 2))) for number in range(4)])


def test_a_distance_has_its_slope_along_the_way_and_a_clear_advantage(line):
    shape = measure(Known(lambda states, goals: -3.0 * jnp.linalg.norm(states - goals + 1e-9, axis=-1)), None, line)
    assert shape.distances.tolist() == [1, 2, 5, 10, 20]  # goals are never the last row of an episode
    np.testing.assert_allclose(shape.slopes.mean(axis=0), [3, 0], atol=1e-4)
    np.testing.assert_allclose(shape.values[:, 1], -1.5 * shape.distances, atol=1e-4)
    np.testing.assert_allclose(shape.signal, 1.5, atol=1e-4)
    assert shape.clarity.min() > 1000


def test_a_value_that_ignores_its_goal_has_no_signal(line):
    wave = lambda states, goals: jnp.cos(2 * jnp.pi * states[..., 0])
    shape = measure(Known(wave), None, line)
    assert np.abs(shape.clarity).max() < 0.1  # up and down by 2 in turn
    np.testing.assert_allclose(shape.noise, 2, atol=0.1)


def test_the_picture_shows_several_runs(tmp_path, capsys):
    data = write_npz(tmp_path / "walk.npz", walk())
    schedule = {"steps": 20, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10, "held_out": 0.3}
    runs = [train(data, small_recipe(name), run=tmp_path / name, **schedule) for name in ("gcivl", "gcivl-mvl", "bc")]
    assert main(["plot", "shape", *map(str, runs[:2]), "-o", str(tmp_path / "shape.png")]) == 0
    assert (tmp_path / "shape.png").stat().st_size > 10_000
    assert main(["plot", "shape", str(runs[2]), "-o", str(tmp_path / "bc.png")]) == 2
    assert "learns no value" in capsys.readouterr().err
