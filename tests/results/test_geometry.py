"""Every measure on fields made by hand, where its number is known."""

import jax.numpy as jnp
import numpy as np
import pytest
from test_shortest_paths import room
from untrained import untrained

from conftest import small_recipe
from mvl.regularizers.mollified import Mollified
from mvl.results.geometry import (
    Geometry,
    ascent,
    downhill,
    geometry,
    geometry_of_seeds,
    jitter,
    mean,
    measure,
    violated,
)
from mvl.results.shortest_paths import geodesic
from mvl.tasks import find_task

WALLED = room(4, 5, (1, 3), (2, 3), (3, 3))
"""A wall in the middle that leaves one way over its top; the goal is in the lower right."""
GOAL = np.array([5.0, 1.0])


def test_minus_the_true_distance_is_perfect():
    distances = geodesic(WALLED, GOAL)
    found = measure(WALLED, -distances, distances, GOAL, 0.0)
    assert found[:4] == pytest.approx((1, 1, 1, 1))
    assert 0 < found.jitter < 0.06  # kinks at the goal and where two ways are equally long
    discounted = -(1 - 0.5**distances) / (1 - 0.5)
    bent = measure(WALLED, discounted, distances, GOAL, 0.0)
    assert bent.rank_correlation == pytest.approx(1, abs=1e-4)
    assert bent.correlation < 0.95
    assert (bent.ascent, bent.downhill) == (1, 1)


def test_the_straight_line_runs_into_the_wall():
    """Left of the wall nothing arrives, below its top; right of it everything does."""
    distances, straight = geodesic(WALLED, GOAL), WALLED.straight_distance(GOAL)
    found = measure(WALLED, -straight, distances, GOAL, 0.0)
    assert found.rank_correlation < 0.9
    assert 0.4 < found.ascent < 0.65  # 9 of 17 cells lie right of the wall or above it
    assert 0.7 < found.downhill < 1
    x, _, free = WALLED.grid()
    left = free & (x < 2.5)[None, :] & (np.arange(free.shape[0]) < 30)[:, None]
    away = WALLED.straight_distance(GOAL) <= WALLED.radius
    assert ascent(np.where(left, -straight, -100 - straight), left, away) == 0


def test_a_flat_field_says_nothing():
    distances = geodesic(WALLED, GOAL)
    found = measure(WALLED, np.zeros(distances.shape), distances, GOAL, 0.0)
    assert found == (0, 0, 0, 0, 0, 0)
    upside_down = measure(WALLED, distances, distances, GOAL, 0.0)
    assert upside_down[:2] == pytest.approx((-1, -1))
    assert (upside_down.ascent, upside_down.downhill) == (0, 0)


def test_ascent_ends_on_other_peaks_and_does_not_cut_corners():
    """Two peaks on a line: who starts beyond the ridge between them goes to the wrong one."""
    values = np.array([[5.0, 4, 3, 2, 1, 2, 3]])
    free, goal = np.ones((1, 7), bool), np.array([[True] + [False] * 6])
    assert ascent(values, free, goal) == pytest.approx(4 / 6)  # the ridge at 1 is as steep both ways: the first wins
    corner = np.array([[1.0, 0.0], [0.0, 2.0]])
    only_diagonal = np.array([[True, False], [False, True]])
    there = np.array([[False, False], [False, True]])
    assert ascent(corner, only_diagonal, there) == 0
    assert ascent(corner, np.ones((2, 2), bool), there) == 1


def test_downhill_counts_where_gradients_agree():
    """Distance falls to the right; V rises to the right in three of five columns, with one-sided slopes at the ends."""
    distances = np.tile(np.array([4.0, 3, 2, 1, 0]), (3, 1))
    values = np.tile(np.array([3.0, 2, 3, 4, 5]), (3, 1))
    assert downhill(values, distances) == pytest.approx(3 / 5)  # the valley's two sides cancel: not a rise
    distances[1, 2] = np.inf
    assert downhill(-distances, distances) == pytest.approx(1)


def test_jitter_of_a_plane_of_noise_and_of_both():
    rows, columns = np.mgrid[:120, :120]
    free = np.ones((120, 120), bool)
    plane = 0.3 * rows + 0.4 * columns
    noise = np.random.default_rng(0).normal(size=plane.shape)
    assert jitter(plane, free) == pytest.approx(0, abs=1e-12)
    # A mean of 25 leaves sqrt(24 / 25) of the noise; its rms gradient by central differences is 1, over 2 points 2.
    assert jitter(noise, free) == pytest.approx(np.sqrt(24 / 25) / 2, rel=0.03)
    assert jitter(7 * noise, free) == pytest.approx(jitter(noise, free))
    # The plane's gradient is 0.5; noise of 0.1 adds 0.1 to it, squared.
    expected = 0.1 * np.sqrt(24 / 25) / (2 * np.sqrt(0.5**2 + 0.1**2))
    assert jitter(plane + 0.1 * noise, free) == pytest.approx(expected, rel=0.03)


def test_bounds_fail_for_the_neighbors_in_a_cone():
    """V = x rises by |e| cos(angle): above c |e| for angles within arccos(c), a share arccos(c) / pi of all."""
    states = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32)
    at = lambda points, goals: points[None, ..., 0]
    share = lambda cost: violated(at, states, np.zeros(2, np.float32), Mollified(cost=cost, form="text", fraction=0.1))
    assert share(0.5) == pytest.approx(1 / 3, abs=0.02)
    assert share(np.cos(0.3)) == pytest.approx(0.3 / np.pi, abs=0.02)
    assert share(1.01) == 0
    distance = lambda points, goals: -jnp.linalg.norm(points - goals, axis=-1)[None]
    assert violated(distance, states, np.zeros(2, np.float32), Mollified(cost=1.001)) == 0


def test_means_and_json():
    found = mean([Geometry(0, 0, 0, 0, 0, 0), Geometry(1, 0.5, 1, 1, 0.11111, 1)])
    assert found.to_json() == {
        "rank_correlation": 0.5,
        "correlation": 0.25,
        "ascent": 0.5,
        "downhill": 0.5,
        "jitter": 0.0556,
        "violated": 0.5,
    }


def test_what_can_be_measured():
    assert find_task("antmaze-large-navigate-v0").metric
    assert not find_task("pointmaze-teleport-navigate-v0").metric
    assert not find_task("antsoccer-arena-navigate-v0").metric
    assert not find_task("cube-single-play-v0").metric


def test_the_geometry_of_a_run(tmp_path):
    run = untrained(tmp_path / "run", small_recipe(), seeds=2)
    found = geometry(run)
    assert found is not None
    seeds = geometry_of_seeds(run)
    assert mean(seeds) == found
    assert seeds[0] != seeds[1]
    assert -1 <= found.correlation <= 1
    assert 0 < found.jitter < 0.49
    assert geometry(run, Mollified(cost=1e-6)).violated == pytest.approx(0.5, abs=0.1)  # half of all steps lead upward
    assert geometry(untrained(tmp_path / "bc", small_recipe("bc"))) is None
    assert geometry(untrained(tmp_path / "file", small_recipe(), task="walk.npz", simulated=False)) is None
