"""Playing episodes in the real pointmaze: the protocol, and that nothing depends on the number of workers."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from mvl.errors import MvlError
from mvl.evaluation.environments import Environments
from mvl.evaluation.rollout import play, starts
from mvl.tasks import find_task
from mvl.tasks.ogbench import make_env
from mvl.tasks.simulator import Start, quiet_simulators

TASK = "pointmaze-medium-navigate-v0"


def oracle(maze):
    """Walk along the maze's own shortest paths."""

    def act(observations, goals, numbers, time, over):
        flat, targets = observations.reshape(-1, 2), goals.reshape(-1, 2)
        moves = []
        for here, goal in zip(flat, targets, strict=True):
            same = maze.xy_to_ij(here) == maze.xy_to_ij(goal)
            towards = (goal if same else maze.get_oracle_subgoal(here, goal)[0]) - here
            moves.append(towards / (np.linalg.norm(towards) + 1e-6))
        return np.array(moves, np.float32).reshape(observations.shape)

    return act


@pytest.fixture(scope="module")
def maze():
    import ogbench

    return ogbench.make_env_and_datasets(TASK, env_only=True).unwrapped


def test_the_oracle_reaches_every_goal_whatever_the_number_of_workers(maze):
    results, over = [], []
    walk = oracle(maze)

    def seeing(*given):
        over.append(given[-1])
        return walk(*given)

    for workers in (1, 2):
        with Environments(find_task(TASK), workers) as environments:
            over.clear()
            results.append(play(seeing, environments, seeds=2, episodes=1, seed=(0, 0), record=True))
    one, two = results
    assert all((known == (two.lengths[..., 0] <= time)).all() for time, known in enumerate(over))
    assert one.success.shape == (2, 5, 1)
    assert one.success.all()
    assert one.overall.tolist() == [1.0, 1.0]
    assert (one.lengths == two.lengths).all()
    assert (one.goals == two.goals).all()
    for a, b in zip(one.paths, two.paths, strict=True):
        assert (a == b).all()
    assert [len(path) - 1 for path in one.paths] == one.lengths.ravel().tolist()
    assert (one.lengths[0] == one.lengths[1]).all()  # both seeds play the same starts
    for path, goal in zip(one.paths, one.goals.reshape(-1, 2), strict=True):
        assert np.linalg.norm(path[-1] - goal) <= 1.0  # it ended by success


def test_an_idle_policy_fails_after_the_episode_limit():
    with Environments(find_task(TASK), 1) as environments:
        played = play(lambda o, g, n, t, over: np.zeros_like(o), environments, seeds=1, episodes=1, seed=(0, 0))
    assert not played.success.any()
    assert (played.lengths == 1000).all()


def test_starts_are_the_five_tasks_with_their_own_seeds():
    plan = starts(5, 3, (0, 7))
    assert [start.goal for start in plan] == [task for task in range(1, 6) for _ in range(3)]
    assert len({start.seed for start in plan}) == 15
    assert plan == starts(5, 3, (0, 7))
    assert plan != starts(5, 3, (0, 8))


def test_random_transitions_do_not_depend_on_the_company():
    """The teleport maze draws while stepping; an episode is the same alone and among others."""
    push = np.array([[0.3, 0.6]], np.float32)
    paths = []
    for plan in ([Start(1, 5)], [Start(2, 9), Start(1, 5), Start(3, 1)]):
        with Environments(find_task("pointmaze-teleport-navigate-v0"), 1) as environments:
            environments.reset(plan)
            index = plan.index(Start(1, 5))
            paths.append([environments.step(np.repeat(push, len(plan), 0))[0][index] for _ in range(100)])
    assert np.array_equal(paths[0], paths[1])


def test_a_failing_worker_is_reported():
    with (
        Environments(replace(find_task(TASK), env=partial(make_env, "pointmaze-nowhere-navigate-v0")), 1) as environments,
        pytest.raises(MvlError, match="worker process failed"),
    ):
        environments.reset([Start(1, 0)])


def kill(environments, number):
    process = environments.workers[number].process
    process.kill()
    process.wait()


def test_killed_workers_are_replaced_and_their_episodes_are_the_same(maze, capfd):
    """One dies before an evaluation, another in the middle of its episodes."""
    walk = oracle(maze)

    def killing(observations, goals, numbers, time, over):
        if time == 20:
            kill(environments, 1)
        return walk(observations, goals, numbers, time, over)

    with Environments(find_task(TASK), 2) as environments:
        whole = [play(walk, environments, seeds=1, episodes=1, seed=(number,), record=True) for number in range(2)]
        broken = [play(killing, environments, seeds=1, episodes=1, seed=(0,), record=True)]
        kill(environments, 0)
        broken.append(play(walk, environments, seeds=1, episodes=1, seed=(1,), record=True))
    for one, other in zip(whole, broken, strict=True):
        for field in ("success", "lengths", "goals"):
            assert np.array_equal(getattr(one, field), getattr(other, field))
        assert all(np.array_equal(a, b) for a, b in zip(one.paths, other.paths, strict=True))
    line = "mvl: a worker process died (killed by signal 9; is there enough memory?); a new one repeats its work.\n"
    assert capfd.readouterr().err == 2 * line


def test_a_worker_that_dies_twice_in_a_round_ends_it():
    with Environments(find_task(TASK), 1) as environments:
        environments.reset([Start(1, 0)])
        kill(environments, 0)
        environments.step(np.zeros((1, 2), np.float32))
        kill(environments, 0)
        with pytest.raises(MvlError, match=r"died, and so did its replacement \(killed by signal 9; is there enough memory\?\)"):
            environments.step(np.zeros((1, 2), np.float32))


def test_a_script_without_a_main_guard_can_evaluate(tmp_path):
    """Workers are not copies of the caller, so its top level does not run again."""
    import subprocess
    import sys

    script = tmp_path / "script.py"
    script.write_text(
        "from mvl.evaluation.environments import Environments\n"
        "from mvl.tasks import find_task\n"
        "from mvl.tasks.simulator import Start\n"
        "print('once')\n"
        f"with Environments(find_task({TASK!r}), 2) as environments:\n"
        "    print(environments.reset([Start(1, 0), Start(2, 1)])[0].shape)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.stdout.split("\n") == ["once", "(2, 2)", ""]


def test_environments_that_take_much_memory_are_played_few_at_a_time():
    assert find_task("pointmaze-medium-navigate-v0").at_once > 250
    for name in ("cube-single-play-v0", "scene-noisy-v0", "puzzle-4x4-play-oraclerep-v0"):
        assert 160e6 * find_task(name).at_once < 4e9


def test_an_arms_episode_repeats_goal_and_all():
    with quiet_simulators():
        arm = find_task("cube-single-play-v0").make_simulator()
        first, other, again = (arm.reset(Start(2, seed)) for seed in (7, 8, 7))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[1], other[1])
