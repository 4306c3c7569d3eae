"""How imported numbers are stored: levels, ranges and origins by hand."""

from pathlib import Path

import numpy as np
import pytest

from mvl.data.imports.encoding import Encoding, Survey, encoding
from mvl.data.signals import Dimension
from mvl.data.sources.episodes import Checked
from mvl.errors import DataError, UsageError

NAMES = [Dimension("a", f"a_{i}") for i in range(4)]
SOURCE = Path("demos")


def surveyed(*pairs):
    survey = Survey()
    for observations, actions in pairs:
        survey.add(Checked(np.asarray(observations), np.asarray(actions), None))
    return survey


def acting(actions):
    """A survey of one episode with these actions."""
    return surveyed((np.zeros((len(actions), 1)), actions))


def test_two_values_are_levels_wherever_they_appear():
    low, high = np.full((15, 1), 0.1), np.full((15, 1), 0.8)
    survey = surveyed((np.zeros((15, 1)), low), (np.zeros((15, 1)), high))
    levels = survey.discrete(NAMES, set(), set())
    assert levels == [(0.1, 0.8)]
    encoded = encoding(survey, NAMES, SOURCE, False, levels)
    assert encoded.actions(np.array([[0.8], [0.1], [0.79]])).tolist() == [[1], [0], [1]]
    assert survey.discrete(NAMES, set(), {0}) == [()]


def test_two_values_in_a_few_rows_are_no_levels():
    assert acting([[0.0], [1.0], [0.0]]).discrete(NAMES, set(), set()) == [()]


def test_an_unused_last_action_is_no_level():
    survey = acting(np.r_[np.ones(30), 0.0][:, None])
    assert survey.discrete(NAMES, set(), set()) == [()]


def test_more_values_are_levels_on_demand_only():
    survey = acting(np.tile([[-1.0], [0.0], [1.0]], (9, 1)))
    assert survey.discrete(NAMES, set(), set()) == [()]
    assert survey.discrete(NAMES, {0}, set()) == [(-1.0, 0.0, 1.0)]
    with pytest.raises(UsageError, match="--discrete a_0 takes more than 32 values"):
        acting(np.arange(40.0)[:, None] / 40).discrete(NAMES, {0}, set())
    with pytest.raises(UsageError, match="--discrete a_0 takes one value"):
        acting(np.ones((40, 1))).discrete(NAMES, {0}, set())


def test_rescaled_actions_span_the_range_and_constant_ones_stay_at_its_middle():
    actions = np.array([[-3.0, 7.0, 0.0, 0.0], [5.0, 7.0, 0.0, 1e-9], [1.0, 7.0, 0.0, 0.0]])
    encoded = encoding(acting(actions), NAMES, SOURCE, True, [()] * 4)
    found = encoded.actions(actions)
    assert found[:, 0].tolist() == [-1, 1, 0]
    assert not found[:, 1:3].any()
    low, high = encoded.action_range
    assert np.allclose((low + high)[1:3] / 2, [7, 0])
    assert (np.float32(low) < np.float32(high)).all()
    assert np.abs(found).max() <= 1


def test_a_constant_with_noise_of_rounding_is_not_blown_up():
    actions = np.full((30, 1), 3.0)
    actions[::2] += 1e-8
    actions[::3] -= 1e-8
    encoded = encoding(acting(actions), NAMES, SOURCE, True, [()])
    assert not encoded.actions(actions).any()
    assert np.allclose(encoded.action_range, 3, atol=1e-5)


def test_discrete_dimensions_are_not_scaled():
    actions = np.column_stack([np.linspace(0, 8, 40), np.arange(40) % 2 * 5.0])
    survey = acting(actions)
    encoded = encoding(survey, NAMES, SOURCE, True, survey.discrete(NAMES, set(), set()))
    assert encoded.action_range.tolist() == [[0, -1], [8, 1]]
    assert set(encoded.actions(actions)[:, 1]) == {0, 1}


def test_actions_out_of_range_are_refused_by_name():
    with pytest.raises(DataError, match=r"demos: actions must lie in \[-1, 1\], but a_1 reaches from -2 to 0.5; give --rescale"):
        encoding(acting([[0.0, -2.0], [0.1, 0.5]]), NAMES, SOURCE, False, [(), ()])


def test_positions_far_from_zero_get_an_origin():
    steps = np.cumsum(np.full((1000, 2), 0.35), axis=0)
    far = steps + np.array([5e6, 0])
    encoded = encoding(surveyed((far, np.zeros((1000, 1)))), NAMES, SOURCE, False, [()])
    assert encoded.origin.tolist() == [pytest.approx(5e6 + 175, abs=1), 0]
    back = encoded.observations(far).astype(float) + encoded.origin
    assert np.abs(back - far).max() < 1e-4
    assert np.abs(far.astype(np.float32) - far).max() > 0.1  # what would have been lost


@pytest.mark.parametrize("offset", [0.0, 50.0, 5000.0])
def test_near_positions_and_wide_ranges_need_no_origin(offset):
    steps = np.cumsum(np.full((1000, 1), 0.35), axis=0) + offset
    assert encoding(surveyed((steps, np.zeros((1000, 1)))), NAMES, SOURCE, False, [()]).origin is None


def test_noise_of_a_thing_at_rest_needs_no_origin():
    still = 1.5 + 1e-9 * np.random.default_rng(0).normal(size=(100, 1))
    assert encoding(surveyed((still, np.zeros((100, 1)))), NAMES, SOURCE, False, [()]).origin is None


def test_actions_that_float32_would_round_are_refused():
    far = 5e6 + np.cumsum(np.full((1000, 1), 0.35), axis=0)
    with pytest.raises(DataError, match="a_0 .* use --deltas"):
        encoding(acting(far), NAMES, SOURCE, True, [()])


def test_what_float32_cannot_hold_is_refused():
    with pytest.raises(DataError, match=r"1e\+39 is beyond 3.4e\+38"):
        Encoding([]).observations(np.array([[1e39]]))
