"""The interval quasimetric against a brute-force union of intervals, and what makes it a distance."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.nets.quasimetric import interval_distance, union_length


def covered(left, right) -> float:
    """Length of a union: between each two neighboring ends, is there an interval over the gap?"""
    ends = sorted({*left.tolist(), *right.tolist()})
    over = lambda a, b: any(low <= a and b <= high for low, high in zip(left, right, strict=True))
    return sum(b - a for a, b in pairwise(ends) if over(a, b))


def distance_by_hand(mix, start, end) -> float:
    """Groups of eight in order; their mean and their maximum, mixed by a sigmoid."""
    start, end = np.asarray(start, np.float64), np.asarray(end, np.float64)
    lengths = [covered(start[at : at + 8], np.maximum(start[at : at + 8], end[at : at + 8])) for at in range(0, len(start), 8)]
    share = 1 / (1 + np.exp(-mix))
    return share * np.mean(lengths) + (1 - share) * np.max(lengths)


@pytest.mark.parametrize(
    ("intervals", "length"),
    [
        ([(0, 1), (2, 4)], 3),  # apart
        ([(0, 2), (1, 4)], 4),  # overlapping
        ([(0, 9), (2, 3)], 9),  # nested, the outer first
        ([(2, 3), (0, 9)], 9),  # nested, the inner first
        ([(0, 9), (1, 2), (3, 4), (8, 11)], 11),  # the first reaches beyond those between it and the last
        ([(1, 4), (1, 2)], 3),  # a common start, the longer first
        ([(1, 2), (1, 4)], 3),
        ([(1, 4), (1, 4), (1, 4)], 3),  # the same thrice
        ([(0, 1), (1, 2)], 2),  # touching
        ([(5, 5), (1, 1)], 0),  # empty
        ([(2, 2), (1, 3)], 2),  # empty inside another
        ([(-3, -1), (-2, 2)], 5),
    ],
)
def test_union_on_paper(intervals, length):
    left, right = jnp.asarray(intervals, jnp.float32).T
    assert float(union_length(left, right)) == pytest.approx(length)


@pytest.mark.parametrize("grid", [None, 4])
def test_union_by_brute_force(grid):
    """On a coarse grid many starts tie, intervals repeat and some are empty."""
    generator = np.random.default_rng(0)
    left, span = generator.normal(size=(300, 8)), np.maximum(generator.normal(size=(300, 8)), 0)
    if grid:
        left, span = np.round(grid * left / 2) / grid, np.round(grid * span) / grid
    left, right = left.astype(np.float32), (left + span).astype(np.float32)
    assert (left == right).any()
    expected = [covered(*pair) for pair in zip(left.astype(np.float64), right.astype(np.float64), strict=True)]
    assert np.allclose(union_length(jnp.asarray(left), jnp.asarray(right)), expected, atol=1e-5)


def test_distance_by_hand():
    start, end = np.random.default_rng(1).normal(size=(2, 20, 24)).astype(np.float32)
    found = interval_distance(jnp.asarray(0.7), jnp.asarray(start), jnp.asarray(end))
    assert np.allclose(found, [distance_by_hand(0.7, *pair) for pair in zip(start, end, strict=True)], atol=1e-5)


@pytest.mark.parametrize("mix", [-4.0, 0.0, 4.0])
def test_triangle_inequality_and_zero_at_home(mix, key):
    a, b, c = jax.random.normal(key, (3, 3000, 24))
    distance = lambda start, end: np.asarray(interval_distance(jnp.asarray(mix), start, end))
    detour, direct = distance(a, b) + distance(b, c), distance(a, c)
    assert (direct <= detour + 1e-5).all()
    assert (direct > 0).all()
    assert (distance(a, a) == 0).all()
    midway = distance(a, (a + c) / 2) + distance((a + c) / 2, c)  # close to the bound, where a mistake would show
    assert (direct <= midway + 1e-5).all()


def test_way_back_may_be_longer(key):
    a, b = jax.random.normal(key, (2, 100, 16))
    there, back = (np.asarray(interval_distance(jnp.zeros(()), *pair)) for pair in ((a, b), (b, a)))
    assert (np.abs(there - back) > 0.01).mean() > 0.9
    below, above = jnp.zeros(8), jnp.ones(8)
    assert float(interval_distance(jnp.zeros(()), below, above)) == 1.0
    assert float(interval_distance(jnp.zeros(()), above, below)) == 0.0


def test_one_goal_for_many_points_and_many_goals_for_each_point(key):
    points, goals = jax.random.normal(key, (5, 16)), jax.random.normal(jax.random.key(1), (3, 16))
    mix = jnp.asarray(0.2)
    toward = interval_distance(mix, points, goals[0])
    every = interval_distance(mix, points[:, None], goals)
    assert toward.shape == (5,)
    assert every.shape == (5, 3)
    for i in range(5):
        assert float(toward[i]) == pytest.approx(float(every[i, 0]), abs=1e-6)
        for j in range(3):
            assert float(every[i, j]) == pytest.approx(distance_by_hand(0.2, points[i], goals[j]), abs=1e-5)


@pytest.mark.parametrize("same", [True, False])
def test_gradient_is_finite_also_at_home(same, key):
    start, other = jax.random.normal(key, (2, 4, 16))
    end = start if same else other
    found = jax.grad(lambda *args: interval_distance(*args).sum(), argnums=(0, 1, 2))(jnp.zeros(()), start, end)
    assert all(np.isfinite(leaf).all() for leaf in found)
    assert same or all(float(jnp.abs(leaf).sum()) > 0 for leaf in found)


def test_gradient_agrees_with_differences(key):
    start, end = np.asarray(jax.random.normal(key, (2, 16)), np.float64)
    gradient = jax.grad(interval_distance, argnums=2)(jnp.asarray(0.3), jnp.asarray(start), jnp.asarray(end))
    for j in range(16):
        step = 1e-6 * np.eye(16)[j]
        slope = (distance_by_hand(0.3, start, end + step) - distance_by_hand(0.3, start, end - step)) / 2e-6
        assert float(gradient[j]) == pytest.approx(slope, abs=1e-4)
