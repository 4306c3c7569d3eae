"""The arena against ruler and compass; every field at a size that takes a moment."""

import json
import sys

import jax
import numpy as np
import pytest
from matplotlib.image import imread

from mvl.cli import main
from mvl.results.shortest_paths import geodesic
from mvl.toy.arena import ARENA, GOAL, HALF, STEP, blocked, draw_free, draw_steps, marched_distance, true_distance
from mvl.toy.fields import train, trainers
from mvl.toy.figure import measured

X, Y, FREE = ARENA.grid()


def at(field: np.ndarray, x: float, y: float) -> tuple[float, np.ndarray]:
    """The field at the grid point nearest to a place, and that point."""
    row, column = np.abs(Y - y).argmin(), np.abs(X - x).argmin()
    return float(field[row, column]), np.array([X[column], Y[row]])


def test_the_arena():
    assert ARENA.walls.shape == (7, 7)
    assert ARENA.extent == pytest.approx((-1.4, 1.4, -1.4, 1.4))
    places = np.stack(np.meshgrid(X, Y), axis=-1)
    assert np.array_equal(np.asarray(blocked(places)), ~FREE)


def test_true_distances_by_hand():
    field = true_distance()
    straight, place = at(field, 0.9, -0.7)
    assert straight == pytest.approx(np.linalg.norm(place - GOAL))
    near, far = np.array([HALF, -HALF]), np.array([HALF, HALF])
    around, place = at(field, 0.9, 0.5)  # sees the near right corner, not the goal
    assert around == pytest.approx(np.linalg.norm(GOAL - near) + np.linalg.norm(near - place))
    behind, place = at(field, 0.1, 0.8)  # over both right corners
    assert behind == pytest.approx(np.linalg.norm(GOAL - near) + 2 * HALF + np.linalg.norm(far - place))
    assert np.isinf(at(field, 0, 0)[0])
    assert np.allclose(field[FREE], field[:, ::-1][FREE])  # left is as right


def test_three_ways_to_the_same_distance_agree():
    true = true_distance()[FREE]
    for found in (geodesic(ARENA, GOAL)[FREE], marched_distance()[FREE]):
        assert np.abs(found - true).max() < 2 * ARENA.spacing
        assert np.sqrt(np.square(found - true).mean() / np.square(true).mean()) < 0.02


def test_what_networks_see_is_free():
    places = draw_free(jax.random.key(0), 500)
    assert places.shape == (500, 2)
    assert not blocked(places).any()
    here, there = draw_steps(jax.random.key(1), 500)
    assert not blocked(there).any()
    lengths = np.linalg.norm(there - here, axis=-1)
    moved = lengths > 0
    assert lengths[moved] == pytest.approx(STEP, rel=1e-4)
    assert 0.8 < moved.mean() < 1


def test_errors_by_hand():
    true = np.where(FREE, true_distance(), 0)
    exact = measured(true, 0.0)
    assert exact[1:4] == pytest.approx((0, 0, 1))
    assert (exact.ascent, exact.downhill) == pytest.approx((1, 1))
    doubled = measured(2 * true, 0.0)
    assert doubled[1:4] == pytest.approx((1, 0, 0.5))
    nothing = measured(np.zeros(true.shape), 0.0)
    assert nothing[1:7] == pytest.approx((1, 1, 0, 0, 0, 0))


@pytest.mark.parametrize("name", trainers())
def test_training_brings_every_network_nearer(name):
    counted = []
    begun, later = (measured(train(trainers()[name], 0, steps, lambda: counted.append(1)), 0.0) for steps in (10, 150))
    assert len(counted) == 20
    assert later.shape_error < begun.shape_error
    assert later.shape_error < 0.5


def test_the_command(tmp_path, capsys):
    picture, figures = tmp_path / "toy.svg", tmp_path / "toy.json"
    command = ["toy", "--steps", "10", "--to", str(picture), "--json", str(figures)]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    names = ["fast marching", "straight line", "mollified", "Eikonal residual", "TD"]
    assert [line[:18].strip() for line in lines[1:]] == names
    written = json.loads(figures.read_text())
    assert list(written) == names
    assert 0 < written["fast marching"]["error"] < 0.015
    assert "<svg" in picture.read_text()
    before = picture.read_bytes()
    assert main(command) == 1
    assert "exists already" in capsys.readouterr().err
    assert picture.read_bytes() == before
    assert main(["toy", "--steps", "10", "--to", str(tmp_path / "toy.png"), "--json", str(figures), "--overwrite"]) == 0
    assert imread(tmp_path / "toy.png").shape[0] > 300
    again = json.loads(figures.read_text())
    assert {name: row["error"] for name, row in again.items()} == {name: row["error"] for name, row in written.items()}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--steps", "15"], "must be a multiple of 10, not 15"),
        (["--to", "toy.jpg"], "ends in .png or .svg"),
        (["--seeds", "1"], "did you mean --seed"),
    ],
)
def test_wrong_commands(capsys, args, message):
    assert main(["toy", *args]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_missing_solver_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "skfmm", None)
    assert main(["toy", "--steps", "10"]) == 1
    assert "pip install 'mollified-value-learning[toy]'" in capsys.readouterr().err
