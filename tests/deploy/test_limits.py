"""Limits of the policy server, against numbers computed by hand."""

import numpy as np
import pytest

from mvl.deploy.limits import ActionLimiter, Limits, Ranges, Rate
from mvl.errors import UsageError


def test_the_distance_is_the_largest_excess_in_standard_deviations():
    ranges = Ranges(np.array([0.0, -1.0]), np.array([1.0, 1.0]), np.array([0.5, 0.1]))
    assert ranges.distance(np.array([0.0, 1.0])) == 0.0
    assert ranges.distance(np.array([-1.0, 0.0])) == 2.0
    assert ranges.distance(np.array([2.0, 1.5])) == pytest.approx(5.0)


def test_a_run_without_ranges_has_none():
    assert Ranges.of_run({"path": "x"}) is None
    assert Ranges.of_run({"observations": {"low": [0], "high": [1], "std": [1]}}).high.tolist() == [1]


def test_actions_are_limited_in_size_then_in_change():
    limiter = ActionLimiter(Limits(max_action=(1.0,), max_change=(0.5, 0.1)))
    assert np.allclose(limiter(np.float32([[3.0, -0.2]])), [[1.0, -0.2]])
    assert np.allclose(limiter(np.float32([[-1.0, -0.15]])), [[0.5, -0.15]])
    assert np.allclose(limiter(np.float32([[-1.0, 1.0], [-1.0, 1.0]])), [[0.0, -0.05], [-0.5, 0.05]])
    limiter.reset()
    assert np.allclose(limiter(np.float32([[1.0, 1.0]])), [[1.0, 1.0]])


def test_without_limits_actions_stay_as_they_are():
    actions = np.float32([[9.0, -9.0]])
    assert ActionLimiter(Limits())(actions).tolist() == actions.tolist()


def test_a_limit_has_one_number_or_one_for_each_dimension():
    Limits(max_action=(1.0, 2.0, 3.0), max_change=(1.0,)).check_dimensions(3)
    with pytest.raises(UsageError, match="max_change has 2 numbers; give one, or one for each of the 3 action dimensions"):
        Limits(max_change=(1.0, 2.0)).check_dimensions(3)
    with pytest.raises(UsageError, match="max_action must be a number above 0"):
        Limits(max_action=(1.0, 0.0))


@pytest.mark.parametrize("sent", [None, 100.0, 99.5, 100.5, np.float32(100)])
def test_a_recent_observation_is_accepted(sent):
    Limits(max_age=1.0).check_age(sent, now=100.0)


@pytest.mark.parametrize(
    ("sent", "said"),
    [(98.9, "1.1 s old, and at most 1 s"), (102, "-2 s old"), ("now", "not a number"), (np.nan, "not a number")],
)
def test_an_old_observation_is_refused(sent, said):
    with pytest.raises(UsageError, match=said):
        Limits(max_age=1.0).check_age(sent, now=100.0)


def test_a_second_of_messages_may_come_at_once():
    rate = Rate(3.0, now=0.0)
    assert [rate.allows(0.0) for _ in range(4)] == [True, True, True, False]
    assert [rate.allows(0.5) for _ in range(2)] == [True, False]
    assert [rate.allows(99.0) for _ in range(4)] == [True, True, True, False]


def test_a_rate_below_one_lets_the_first_message_through():
    rate = Rate(0.5, now=0.0)
    assert rate.allows(0.0)
    assert not rate.allows(1.0)
    assert rate.allows(2.5)
