"""Held-out measures against policies and values whose answers are known."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import walk
from mvl.data.dataset import Dataset
from mvl.errors import DataError
from mvl.evaluation.held_out import dynamics, measures, rollouts
from mvl.evaluation.held_out.trial import Pairs, Trial


def straight(episodes: int = 4, rows: int = 12) -> Dataset:
    """Episodes along a line: every step goes an eighth to the right, with action 1."""
    return Dataset.from_episodes(
        [
            (np.stack([np.arange(rows) / 8, np.full(rows, float(e))], axis=1), np.tile([1.0, 0.0], (rows, 1)))
            for e in range(episodes)
        ]
    )


class Line:
    """Known dynamics in the place of a learned model: a step goes an eighth of the action."""

    goal_moments = SimpleNamespace(std=(1.0, 1.0))

    def next(self, observations, actions):
        after = observations + actions / 8
        return after, after


def trial(data: Dataset, gains=(1.0,), *, has_value: bool = True, model=None, value=None) -> Trial:
    """Policies that go `gain` times the way to the goal, with V = -|s - g| unless given."""

    def act(params, states, goals, *_):
        return jnp.clip(params * 8 * (goals - states), -1, 1)

    def values(params, states, goals, _):
        return params * -jnp.linalg.norm(states - goals, axis=-1) if value is None else value(states, goals)

    learning = SimpleNamespace(history=1)
    learner = SimpleNamespace(act=act, values=values, recipe=SimpleNamespace(has_surface=has_value, learning=learning))
    gains = jnp.asarray(gains)
    play = lambda observations, goals, *_: np.asarray(act(gains[:, None, None], observations, goals))
    return Trial(learner, gains, play, data, model or Line())


def test_goals_lie_ahead_in_the_same_episode():
    one = trial(walk())
    data, pairs = one.held_out, one.ahead
    assert (pairs.goals > pairs.states).all()
    assert (pairs.goals <= data.final_goals[pairs.states]).all()
    assert set(one.anywhere.states) <= set(data.transitions)
    with pytest.raises(DataError, match="one step only"):
        _ = trial(Dataset.from_episodes([(np.zeros((2, 2)), np.zeros((2, 2)))])).ahead


def test_the_action_error_is_the_mean_square_over_dimensions():
    found = measures.action_error(trial(straight(), gains=(1.0, 0.0, -1.0)))
    np.testing.assert_allclose(found, [0.0, 0.5, 2.0], atol=1e-6)  # actions (1, 0), (0, 0) and (-1, 0) instead of (1, 0)


def test_the_advantage_error_counts_steps_that_raise_the_value():
    data = straight()
    even = lambda states, goals: -(states[..., 0] * 8 % 2)  # rises from odd to even rows only, whatever the goal
    half = lambda params, states, goals, *_: (states[..., :1] * 8 % 2) * jnp.array([1.0, 0.0])
    one = trial(data, value=even)
    one.learner.act = half  # right in odd rows, zero in even ones
    assert measures.advantage_error(one) == pytest.approx([0.0], abs=1e-6)
    assert measures.action_error(one)[0] > 0.1


def test_values_that_fall_with_the_distance_rise_along_episodes():
    one = trial(straight(), gains=(1.0, -1.0))
    np.testing.assert_allclose(measures.value_rises(one), [1.0, 0.0])
    np.testing.assert_allclose(measures.value_rank(one), [1.0, -1.0], atol=1e-6)
    np.testing.assert_allclose(measures.value_rank_across(one), [1.0, -1.0], atol=1e-6)


def test_a_constant_value_has_no_rank_correlation():
    one = trial(straight(), value=lambda states, goals: jnp.zeros(states.shape[:-1]))
    assert (measures.value_rank(one), measures.value_rank_across(one), measures.value_rises(one)) == (0.0, 0.0, 0.0)


def test_near_is_what_the_data_covers_in_five_steps():
    one = trial(straight(rows=100))
    moved = np.minimum(rollouts.NEAR, np.arange(98, -1, -1)).mean() / 8  # the last rows have fewer than five steps ahead
    np.testing.assert_allclose(rollouts.goal_unit(one), [moved, moved], rtol=1e-5)
    assert rollouts.horizon(straight(rows=31)) == 30
    assert rollouts.horizon(straight(rows=900)) == rollouts.LONGEST


def test_rollouts_reach_goals_if_the_policy_goes_there():
    data = straight(rows=31)
    one = trial(data, gains=(1.0, 0.0, -1.0))
    first = data.transitions[np.array([0, 0])]
    found = rollouts.distances(one, Pairs(first, first + np.array([20, 1])))
    assert found.shape == (31, 3, 2)
    np.testing.assert_allclose(found[-1, 0], 0.0, atol=1e-4)  # there, and stays
    np.testing.assert_allclose(found[-1, 1], found[0, 1])
    assert (found[-1, 2] > found[0, 2]).all()
    np.testing.assert_allclose(measures.model_success_ahead(one)[0], 1.0)
    assert measures.model_success(one)[2] < measures.model_success(one)[1] < measures.model_success(one)[0] == 1.0


@pytest.fixture(scope="module")
def model() -> dynamics.Dynamics:
    """Learned from random walks, whose steps are a tenth of the action."""
    return dynamics.fit(walk(episodes=60))


def test_the_model_learns_what_an_action_does(model):
    states, actions = np.array([[0.2, -0.3], [0.0, 0.4]], np.float32), np.array([[1.0, -1.0], [-0.5, 0.5]], np.float32)
    after, goals = model.next(states, actions)
    np.testing.assert_allclose(after, states + 0.1 * actions, atol=0.02)
    np.testing.assert_array_equal(after, goals)


def test_predictions_stay_within_the_data(model):
    data, step = walk(episodes=60), jax.jit(model.next)
    states = data.observations[:1]
    for _ in range(200):
        states, _ = step(states, np.ones((1, 2), np.float32))
    assert (states <= data.observations.max(axis=0)).all()
    assert np.isfinite(states).all()


def test_a_constant_dimension_stays_constant():
    data = walk(dimensions=3)
    fixed = Dataset(np.where([True, True, False], data.observations, np.float32(7)), data.actions, data.ends)
    after, _ = dynamics.fit(fixed).next(fixed.observations[:5], fixed.actions[:5])
    np.testing.assert_array_equal(after[:, 2], 7.0)


def test_the_model_predicts_goals_that_are_no_observations():
    data = walk(episodes=60)
    oracle = Dataset(data.observations, data.actions, data.ends, oracle=10 * data.observations[:, :1])
    model = dynamics.fit(oracle)
    states = data.observations[:50]
    after, goals = model.next(states, data.actions[:50])
    assert goals.shape == (50, 1)
    assert np.abs(goals[:, 0] - 10 * after[:, 0]).mean() < 2.5  # their deviation is 10
    assert model.goal_moments.mean != model.observations.mean


def test_the_same_data_gives_the_same_model(model):
    jax.tree.map(np.testing.assert_array_equal, model.networks, dynamics.fit(walk(episodes=60)).networks)


def test_measures_of_the_value_are_left_out_without_one():
    with_value, without = (measures.measured(trial(straight(), has_value=one)) for one in (True, False))
    assert list(with_value) == list(measures.MEASURES)
    assert list(without) == ["model-success", "model-success-ahead", "action-error"]
    assert all(values.shape == (1,) for values in with_value.values())
