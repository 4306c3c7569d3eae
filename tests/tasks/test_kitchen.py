"""The real kitchen: what is aimed at, what counts as done, and that an episode depends on its start and actions alone."""

import numpy as np
import pytest
from kitchen_demos import needs_kitchen

from mvl.errors import MvlError
from mvl.evaluation.environments import Environments
from mvl.evaluation.rollout import play
from mvl.tasks import find_task
from mvl.tasks.simulator import Start

needs_kitchen()
TASK = "kitchen-partial-v2"

# From the environment's documentation: where a subtask's joints are in the 30 positions, and where they are to be.
PLACES = {
    "microwave": ([22], [-0.75]),
    "kettle": ([23, 24, 25, 26, 27, 28, 29], [-0.23, 0.75, 1.62, 0.99, 0.0, 0.0, -0.06]),
    "light switch": ([17, 18], [-0.69, -0.05]),
    "slide cabinet": ([19], [0.37]),
    "bottom burner": ([11, 12], [-0.88, -0.01]),
}
ARM = [0.148, -1.768, 1.844, -2.477, 0.260, 0.713, 1.595, 0.048, 0.037]


@pytest.fixture(scope="module")
def kitchen():
    from mvl.tasks import find_task

    return find_task(TASK).make_simulator()


def put(kitchen, subtask, places):
    """Move a subtask's joints by hand."""
    inner = kitchen.env.unwrapped.robot_env
    positions = inner.data.qpos.copy()
    positions[PLACES[subtask][0]] = places
    inner.set_state(positions, np.zeros_like(inner.data.qvel))


def test_the_goal_is_the_start_with_every_subtask_done(kitchen):
    observation, goal = kitchen.reset(Start(1, 3))
    assert observation.shape == goal.shape == (30,)
    assert goal[:9] == pytest.approx(ARM, abs=1e-3)
    rest = set(range(9, 30))
    for subtask in ("microwave", "kettle", "light switch", "slide cabinet"):
        where, there = PLACES[subtask]
        assert goal[where].tolist() == there
        rest -= set(where)
    assert np.abs(goal[sorted(rest)]).max() < 0.01  # burners off, the hinged cabinet shut
    assert observation[sorted({*range(9), *rest})] == pytest.approx(goal[sorted({*range(9), *rest})], abs=0.05)  # seen with noise
    assert observation[22] == pytest.approx(0.0, abs=0.01)


def test_another_kitchen_has_other_subtasks():
    from mvl.tasks import find_task

    mixed = find_task("kitchen-mixed-v2").make_simulator()
    _, goal = mixed.reset(Start(1, 0))
    assert goal[[11, 12]].tolist() == [-0.88, -0.01]
    assert abs(goal[19]) < 0.01
    put(mixed, "bottom burner", PLACES["bottom burner"][1])
    mixed.step(np.zeros(9))
    assert mixed.success == [False, False, True, False]


@pytest.mark.parametrize("index", range(4))
def test_a_subtask_counts_once_it_is_done_and_stays_counted(kitchen, index):
    subtask = kitchen.subtasks[index]
    kitchen.reset(Start(1, 0))
    before = kitchen.env.unwrapped.data.qpos[PLACES[subtask][0]].copy()
    kitchen.step(np.zeros(9))
    assert kitchen.success == [False] * 4
    put(kitchen, subtask, PLACES[subtask][1])
    kitchen.step(np.zeros(9))
    assert kitchen.success == [number == index for number in range(4)]
    put(kitchen, subtask, before)
    kitchen.step(np.zeros(9))
    assert kitchen.success == [number == index for number in range(4)]
    kitchen.reset(Start(1, 0))
    assert kitchen.success == [False] * 4


def test_an_episode_is_over_when_all_is_done(kitchen):
    kitchen.reset(Start(1, 0))
    for subtask in kitchen.subtasks:
        put(kitchen, subtask, PLACES[subtask][1])
    last = kitchen.step(np.zeros(9))
    assert kitchen.success == [True] * 4
    assert kitchen.done
    assert kitchen.step(np.ones(9)) is last


# Seven joints of the arm in MuJoCo 3.11.0, 14 and 20 actions after a start; two links touch at the 15th.
FREE = [0.8068828, -1.7598715, 2.3615028, -2.9622712, 0.5957562, 0.0448533, 0.4571987]
IN_CONTACT = [1.0477044, -1.7649149, 2.4339222, -3.0585528, 0.9872083, -0.0032308, 0.0251769]


def test_the_arm_moves_as_in_mujoco_3_11(kitchen):
    """MuJoCo 3.12, 3.17 and 4.0 agree on the first numbers, and are off by 0.008 in the second."""
    kitchen.reset(Start(1, 3))
    generator, action, joints = np.random.default_rng(3), np.zeros(9), kitchen.env.unwrapped.robot_env.data.qpos
    for step in range(1, 21):
        action = np.clip(action + 0.3 * generator.normal(size=9), -1, 1)
        kitchen.step(action)
        if step == 14:
            assert joints[:7] == pytest.approx(FREE, abs=1e-6)
    assert joints[:7] == pytest.approx(IN_CONTACT, abs=1e-5)


def test_four_scores_for_every_episode_whatever_the_number_of_workers():
    def act(observations, goals, numbers, time, over):
        waves = np.sin(0.1 * time + numbers[None, :, None] + np.arange(9))
        return np.broadcast_to(waves, (*observations.shape[:2], 9))

    results = []
    for workers in (1, 2):
        with Environments(find_task(TASK), workers) as environments:
            environments.at_once = workers  # in two rounds, and in one
            results.append(play(act, environments, seeds=1, episodes=2, seed=(0, 0), record=True))
    one, two = results
    assert one.success.shape == (1, 4, 2)
    assert one.per_task.shape == (1, 4)
    assert one.goals.shape == (1, 1, 2, 30)
    assert one.lengths.tolist() == [[[280, 280]]]
    assert (one.success == two.success).all()
    assert [len(path) for path in one.paths] == [281] * 2
    for a, b in zip(one.paths, two.paths, strict=True):
        assert np.array_equal(a, b)
    assert not np.array_equal(*one.paths)


def test_scores_stand_in_the_order_of_subtasks_and_episodes():
    """Two episodes with two subtasks done each, played by a stand-in."""

    class Standin:
        task, at_once = find_task(TASK), 16

        def reset(self, plan):
            return np.zeros((len(plan), 30)), np.zeros((len(plan), 30))

        def step(self, actions):
            done = [[True, False, False, True], [True, True, False, False]]
            return np.zeros((2, 30)), np.array([True, True]), np.array(done)

    played = play(lambda o, g, n, t, over: o[..., :9], Standin(), seeds=1, episodes=2, seed=(0, 0))
    assert played.per_task.tolist() == [[1.0, 0.5, 0.0, 0.5]]
    assert played.overall.tolist() == [0.5]


@pytest.mark.parametrize(("package", "found"), [("mujoco", "3.12.0"), ("mujoco", "4.0.0"), ("gymnasium-robotics", None)])
def test_what_is_not_installed_is_named(monkeypatch, package, found):
    from mvl.tasks import kitchen

    def version(name):
        if name == package and found is None:
            raise kitchen.PackageNotFoundError(name)
        return found if name == package else "3.3.7"

    monkeypatch.setattr(kitchen, "version", version)
    with pytest.raises(MvlError, match=r"pip install 'mollified-value-learning\[kitchen\]'"):
        find_task(TASK).make_env()
