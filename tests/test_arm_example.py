"""The example's arm: the same in radians and degrees."""

import sys
from pathlib import Path

import numpy as np
import pytest

ARM = Path(__file__).parents[1] / "examples" / "arm"


@pytest.fixture
def env(monkeypatch):
    monkeypatch.syspath_prepend(str(ARM))
    yield __import__("env")
    for name in ("env", "arm", "demonstrator"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("task", [1, 2])
def test_degrees_are_radians_times_a_factor(env, task):
    radians, degrees = env.make(), env.make_in_degrees()
    factors = np.append(np.full(7, 180 / np.pi), 1.0)
    (first, about), (second, told) = (one.reset(seed=3, options={"task_id": task}) for one in (radians, degrees))
    np.testing.assert_allclose(second, first * factors)
    np.testing.assert_allclose(told["goal"], about["goal"] * factors)
    np.testing.assert_allclose(degrees.action_space.high, radians.action_space.high * factors)
    for action in radians.action_space.high * np.linspace(-1, 1, 5)[:, None]:
        first, second = radians.step(action), degrees.step(action * factors)
        np.testing.assert_allclose(second[0], first[0] * factors)
        assert second[1:] == first[1:]
