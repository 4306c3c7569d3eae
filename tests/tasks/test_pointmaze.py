"""The quick point against OGBench's own environment, step by step."""

import numpy as np
import pytest

from mvl.evaluation.environments import simulator_maker
from mvl.tasks import find_task
from mvl.tasks.ogbench import OgbenchSimulator
from mvl.tasks.simulator import Start, quiet_simulators


def pushes(seed: int, length: int) -> np.ndarray:
    """Actions that are kept up for a while, so that the point runs into walls and along them; some beyond the usual range."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.uniform(-1.2, 1.2, (length // 20, 2)), 20, axis=0).astype(np.float32)


@pytest.mark.parametrize("size", ["medium", "large", "giant"])
def test_episodes_are_those_of_the_environment_itself(size):
    name = f"pointmaze-{size}-navigate-v0"
    with quiet_simulators():
        plain, quick = OgbenchSimulator(find_task(name)), find_task(name).make_simulator()
        simulate, asked, steps = quick.simulate, [], 0
        quick.simulate = lambda: asked.append(simulate())
        for start in (Start(1, 3), Start(4, 8)):
            assert all(np.array_equal(a, b) for a, b in zip(plain.reset(start), quick.reset(start), strict=True))
            for action in pushes(start.seed, 1100):
                assert np.array_equal(plain.step(action), quick.step(action))
                assert (plain.done, plain.success, plain.steps) == (quick.done, quick.success, quick.steps)
            assert quick.maze.data.time == pytest.approx(plain.env.unwrapped.data.time)
            assert plain.done  # by the limit, or at the goal
            steps += plain.steps
    assert 0 < len(asked) < 0.8 * steps  # both ways of a step were tried


def test_it_stops_at_the_goal_like_the_environment():
    name = "pointmaze-medium-navigate-v0"
    with quiet_simulators():
        plain, quick = OgbenchSimulator(find_task(name)), find_task(name).make_simulator()
        for slot in (plain, quick):
            _, goal = slot.reset(Start(1, 3))
            slot.env.unwrapped.set_xy(goal - [3.0, 0.0])
        for _ in range(30):
            assert np.array_equal(plain.step(np.array([1.0, 0.0], np.float32)), quick.step(np.array([1.0, 0.0], np.float32)))
    assert plain.done
    assert quick.done
    assert (plain.steps, plain.success) == (quick.steps, quick.success) == (plain.steps, [True])


def test_pictures_see_where_it_is():
    with quiet_simulators():
        quick = find_task("pointmaze-medium-navigate-v0").make_simulator()
        quick.reset(Start(1, 3))
        here = quick.step(np.array([0.5, 0.5], np.float32))
        assert np.allclose(quick.maze.data.geom("pointbody").xpos[:2], here)


def test_the_teleport_maze_stays_with_the_simulator():
    """It moves the point by itself, after the step."""
    assert find_task("pointmaze-teleport-navigate-v0").simulator is OgbenchSimulator


def test_a_point_that_keeps_leaning_is_simulated_once():
    """What a place beside a wall led to is kept, and forgotten with the episode."""
    name = "pointmaze-medium-navigate-v0"
    lean = np.array([-0.5, -0.5], np.float32)
    with quiet_simulators():
        plain, quick = OgbenchSimulator(find_task(name)), find_task(name).make_simulator()
        simulate, asked = quick.simulate, []
        quick.simulate = lambda: asked.append(simulate())
        for _ in range(2):
            assert np.array_equal(plain.reset(Start(1, 3))[0], quick.reset(Start(1, 3))[0])
            counted = len(asked)
            for _ in range(400):
                assert np.array_equal(plain.step(lean), quick.step(lean))
            assert np.allclose(quick.maze.data.geom("pointbody").xpos[:2], quick.observation)
    assert 0 < len(asked) - counted < 100
    assert len(asked) == 2 * counted


def test_points_that_share_a_simulator_do_not_disturb_each_other():
    """Two of them in turn, into walls and along them, against environments of their own."""
    name = "pointmaze-medium-navigate-v0"
    with quiet_simulators():
        make = simulator_maker(find_task(name), None)
        plain, quick = [OgbenchSimulator(find_task(name)), OgbenchSimulator(find_task(name))], [make(), make()]
        assert quick[0].env is quick[1].env
        for start, one, other in zip((Start(1, 3), Start(4, 8)), plain, quick, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(one.reset(start), other.reset(start), strict=True))
        for actions in zip(pushes(3, 600), pushes(8, 600), strict=True):
            for action, one, other in zip(actions, plain, quick, strict=True):
                assert np.array_equal(one.step(action), other.step(action))
                assert (one.done, one.success, one.steps) == (other.done, other.success, other.steps)
