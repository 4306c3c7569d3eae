"""Numbers over seeds and tasks: by hand, in closed form, and as rliable computed them."""

from itertools import product

import numpy as np
import pytest

from mvl.errors import UsageError
from mvl.results import statistics
from mvl.results.bootstrap import bootstrap_interval, resampled
from mvl.results.statistics import interquartile_mean, mean_score, mean_std, optimality_gap, probability_of_improvement


def scores(seeds=6, tasks=5, shift=0.0, seed=0):
    """Success rates of 20 episodes, so that there are ties; tasks differ in difficulty."""
    generator = np.random.default_rng(seed)
    chances = np.clip(np.linspace(0.2, 0.8, tasks) + shift + 0.1 * generator.normal(size=(seeds, tasks)), 0, 1)
    return generator.binomial(20, chances) / 20


def test_spread_by_hand():
    assert mean_std([0.4, 0.5, 0.6]) == pytest.approx((0.5, 0.1))
    assert str(mean_std([0.4, 0.5, 0.6])) == "0.50 ± 0.10"
    assert np.isnan(mean_std([0.7]).std)


def test_interquartile_mean_by_hand():
    """Of eight scores the middle four; of six the middle four too, since a quarter of six is one and a half."""
    assert interquartile_mean(np.array([[100.0, 1, 2, 3], [4, 5, 6, -50]])) == pytest.approx((2 + 3 + 4 + 5) / 4)
    assert interquartile_mean(np.array([[9.0], [1], [2], [3], [4], [-9]])) == pytest.approx((1 + 2 + 3 + 4) / 4)


def test_optimality_gap_by_hand():
    assert optimality_gap(np.array([[0.5, 2.0], [1.0, 0.0]])) == pytest.approx((0.5 + 0 + 0 + 1) / 4)


def test_probability_of_improvement_by_hand():
    """First task: 1 of 6 pairs lost, 1 tied, 4 won; second task: all tied."""
    one, other = np.array([[3.0, 1], [2, 1]]), np.array([[1.0, 1], [2, 1], [2.5, 1]])
    assert probability_of_improvement(one, other) == pytest.approx(((4 + 0.5) / 6 + 0.5) / 2)
    assert probability_of_improvement(one, other) + probability_of_improvement(other, one) == pytest.approx(1)


def test_leading_axes_are_resamples():
    stacked = np.stack([scores(seed=1), scores(seed=2)])
    for name in ("mean_score", "median_score", "interquartile_mean", "optimality_gap"):
        statistic = getattr(statistics, name)
        assert statistic(stacked) == pytest.approx([statistic(stacked[0]), statistic(stacked[1])])
    assert probability_of_improvement(stacked, stacked[::-1]).sum() == pytest.approx(1)


def test_seeds_are_drawn_within_each_task_and_each_array_alone():
    """Tasks that always give the same score leave nothing to chance; every resample of a task holds that task's scores."""
    certain = np.tile([0.1, 0.9], (4, 1))
    assert bootstrap_interval(mean_score, certain, generator=np.random.default_rng(0)) == pytest.approx((0.5, 0.5, 0.5))
    drawn = resampled(np.array([[0.0, 10], [1, 11], [2, 12]]), 300, np.random.default_rng(0))
    assert drawn.shape == (300, 3, 2)
    for task, first in enumerate((0, 10)):
        assert np.bincount((drawn[..., task] - first).astype(int).ravel()) / 900 == pytest.approx([1 / 3] * 3, abs=0.06)
    assert np.abs(np.corrcoef(drawn[:, 0, 0], drawn[:, 0, 1])[0, 1]) < 0.2  # tasks are drawn independently


def test_interval_of_a_mean_against_all_resamples():
    """Four seeds have 256 resamples; the quantiles of their means are known exactly."""
    values = np.array([0.0, 0.1, 0.35, 1.0])
    means = [np.mean(chosen) for chosen in product(values, repeat=4)]
    exact = np.quantile(means, [0.1, 0.9])
    found = bootstrap_interval(mean_score, values[:, None], generator=np.random.default_rng(0), resamples=20_000, level=0.8)
    assert found.value == pytest.approx(values.mean())
    assert found[1:] == pytest.approx(exact, abs=0.03)


def test_interval_of_a_mean_of_many_seeds_is_the_normal_one():
    values = scores(seeds=400, tasks=3)
    low, high = bootstrap_interval(mean_score, values, generator=np.random.default_rng(0))[1:]
    error = np.sqrt((values.var(axis=0) / 400).sum()) / 3
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.06)


def test_a_generator_makes_intervals_repeatable():
    values = scores()
    one, same, other = (bootstrap_interval(mean_score, values, generator=np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert one == same
    assert one != other


# What rliable 1.2.0 (arch 7.2.0) finds for `scores()`: each aggregate and its 95 % interval from 4000 resamples.
AGGREGATES = {
    "mean_score": (0.5033333333333333, 0.46333, 0.54333),
    "median_score": (0.5, 0.4, 0.59167),
    "interquartile_mean": (0.490625, 0.43437, 0.55),
    "optimality_gap": (0.4966666666666667, 0.45667, 0.53667),
}
# And for two sets of scores with so many seeds each, from 500.
IMPROVEMENT = {(6, 6): (0.7, 0.56917, 0.82514), (3, 8): (0.625, 0.525, 0.73969)}


@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates_and_their_intervals_are_those_of_rliable(name):
    found = bootstrap_interval(getattr(statistics, name), scores(), generator=np.random.default_rng(0), resamples=4000)
    assert found.value == pytest.approx(AGGREGATES[name][0], abs=1e-12)
    assert found[1:] == pytest.approx(AGGREGATES[name][1:], abs=0.012)


@pytest.mark.parametrize("seeds", IMPROVEMENT)
def test_probability_of_improvement_is_that_of_rliable(seeds):
    one, other = scores(seeds[0], shift=0.1), scores(seeds[1], seed=1)
    found = bootstrap_interval(probability_of_improvement, one, other, generator=np.random.default_rng(0), resamples=500)
    assert found.value == pytest.approx(IMPROVEMENT[seeds][0], abs=1e-12)
    assert found[1:] == pytest.approx(IMPROVEMENT[seeds][1:], abs=0.03)


def test_scores_that_cannot_be_compared_are_refused():
    draw = {"generator": np.random.default_rng(0)}
    with pytest.raises(UsageError, match=r"shape \(6,\); they must have shape \(seeds, tasks\)"):
        bootstrap_interval(mean_score, scores()[:, 0], **draw)
    with pytest.raises(UsageError, match="not a number"):
        bootstrap_interval(mean_score, np.where(scores() > 0.5, np.nan, 0), **draw)
    with pytest.raises(UsageError, match="these have 5 and 4 tasks"):
        bootstrap_interval(probability_of_improvement, scores(), scores(tasks=4), **draw)
