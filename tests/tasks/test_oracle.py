"""Oracle goals against OGBench's own, the files they are read from, and the names of the tasks that have them."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest
from ogbench.relabel_utils import add_oracle_reps

from conftest import walk
from mvl.batches import BatchRequest, GoalMix
from mvl.data.goals import on_device, sample
from mvl.data.sources.npz import load as load_file
from mvl.errors import DataError
from mvl.tasks import find_task, task_names

ROWS = 9

# task without its end: length of qpos, cubes, buttons, length of the oracle's goal (algorithms.md, section 11)
TASKS = {
    "pointmaze-large-navigate": (2, 0, 0, 2),
    "antmaze-medium-stitch": (15, 0, 0, 2),
    "humanoidmaze-medium-navigate": (28, 0, 0, 2),
    "antsoccer-arena-navigate": (22, 0, 0, 2),
    "cube-single-play": (21, 1, 0, 3),
    "cube-double-play": (28, 2, 0, 6),
    "cube-quadruple-noisy": (42, 4, 0, 12),
    "scene-play": (25, 1, 2, 7),
    "puzzle-3x3-play": (23, 0, 9, 9),
    "puzzle-4x5-noisy": (34, 0, 20, 20),
}


def load(path, task):
    return load_file(path, task.goal_columns_of_file)


def oracle_goals(task, state):
    return task.goal(*(state[column] for column in task.goal_columns))


def simulator_state(length, buttons):
    generator = np.random.default_rng(0)
    return {"qpos": generator.normal(size=(ROWS, length)), "button_states": generator.integers(0, 2, (ROWS, buttons))}


@pytest.mark.parametrize("name", TASKS)
def test_goals_are_those_of_ogbench(name):
    length, cubes, buttons, width = TASKS[name]
    theirs = simulator_state(length, buttons)
    env = SimpleNamespace(unwrapped=SimpleNamespace(_num_cubes=cubes, _num_buttons=buttons))
    add_oracle_reps(f"{name}-oraclerep-v0", env, theirs)
    task = find_task(f"{name}-oraclerep-v0")
    kept = {field: simulator_state(length, buttons)[field] for field in task.goal_columns}  # no more than is asked for
    found = oracle_goals(task, kept)
    assert found.shape == (ROWS, width)
    assert found.dtype == np.float32
    assert np.allclose(found, theirs["oracle_reps"], rtol=1e-6)


def test_scene_on_paper():
    """A cube's place, two buttons, drawer and window, each in its own unit."""
    qpos = np.zeros((1, 25))
    qpos[0, 14:17] = 0.525, 0.2, 0.3
    qpos[0, 14 + 7 + 2], qpos[0, 14 + 7 + 3] = -0.1, 0.2
    found = oracle_goals(find_task("scene-play-oraclerep-v0"), {"qpos": qpos, "button_states": np.array([[0, 1]])})
    assert found[0] == pytest.approx([1.0, 2.0, 3.0, 0.0, 1.0, -1.8, 3.0], abs=1e-5)


def write(path, **extra):
    """The random walks in OGBench's layout, with more arrays."""
    data = walk()
    terminals = np.isin(np.arange(len(data.observations)), data.ends)
    np.savez(path, observations=data.observations, actions=data.actions, terminals=terminals, **extra)
    return path


def test_a_file_without_the_simulator_state_is_refused(tmp_path):
    path = write(tmp_path / "pointmaze-large-navigate-v0.npz")
    with pytest.raises(DataError, match="no qpos") as refused:
        load(path, find_task("pointmaze-large-navigate-oraclerep-v0"))
    assert str(path) in str(refused.value)
    assert load(path, find_task("pointmaze-large-navigate-v0")).oracle is None


def test_only_what_the_oracle_reads_must_be_there(tmp_path):
    buttons = np.zeros((6 * 21, 9))
    path = write(tmp_path / "puzzle.npz", button_states=buttons)
    assert load(path, find_task("puzzle-3x3-play-oraclerep-v0")).oracle.shape == buttons.shape
    with pytest.raises(DataError, match="no qpos"):
        load(path, find_task("scene-play-oraclerep-v0"))


def test_oracle_tasks_read_the_files_of_the_plain_ones(tmp_path):
    path = write(tmp_path / "pointmaze-large-navigate-v0.npz")
    assert find_task("pointmaze-large-navigate-oraclerep-v0").find_data(tmp_path) == path


def test_pointmaze_is_the_same_problem_with_and_without_an_oracle(tmp_path):
    """There the state is the place, so every array of a batch is equal, drawn with the same key."""
    path = write(tmp_path / "walk.npz", qpos=walk().observations.astype(np.float64))
    names = "pointmaze-large-navigate-v0", "pointmaze-large-navigate-oraclerep-v0"
    wants = BatchRequest(goals=GoalMix(), windows=True, midpoints=True, waypoint_steps=5)
    streams = GoalMix(0.0, 1.0, 0.0), GoalMix(0.0, 0.5, 0.5, geometric=False)
    plain, told = (sample(jax.random.key(3), on_device(load(path, find_task(name))), 64, streams, wants, 0.9) for name in names)
    assert load(path, find_task(names[1])).oracle is not None
    leaves = list(zip(jax.tree.leaves_with_path(plain), jax.tree.leaves_with_path(told), strict=True))
    assert len(leaves) == 5 + 3 * 5 + 4 + 3 + 3  # everything was drawn
    for (where, a), (_, b) in leaves:
        assert np.array_equal(a, b), where


def test_oracle_goals_change_what_is_told_and_nothing_else(tmp_path):
    """Goals keep their rows, states and rewards, also where two rows look alike to the oracle."""
    data = walk()
    path = write(tmp_path / "walk.npz", qpos=np.zeros_like(data.observations))
    names = "antmaze-large-navigate-v0", "antmaze-large-navigate-oraclerep-v0"
    streams = GoalMix(), GoalMix(0.0, 1.0, 0.0, geometric=False)
    plain, told = (
        sample(jax.random.key(3), on_device(load(path, find_task(name))), 64, streams, BatchRequest(), 0.9) for name in names
    )
    assert (told.value_goals.vectors == 0).all()
    assert (told.positions == 0).all()
    for field in ("states", "rewards", "masks", "offsets"):
        assert np.array_equal(getattr(plain.value_goals, field), getattr(told.value_goals, field))
    assert np.array_equal(plain.observations, told.observations)


def test_names_round_trip():
    tasks = task_names()
    with_oracle = [name for name in tasks if "oraclerep" in name]
    plain = [name for name in tasks if "oraclerep" not in name and not name.startswith(("kitchen", "panda", "powderworld"))]
    assert len(with_oracle) == len(plain) > 0
    for name, task in tasks.items():
        assert str(task) == name
        assert find_task(name) == task
        assert find_task(name[: -len("-v0")]) == task
        assert ("oraclerep" in name) == (task.goal is not None)


def test_tasks_with_an_oracle_read_the_datasets_of_the_plain_ones():
    for name, task in task_names().items():
        assert task.dataset == name.replace("-oraclerep", "").replace("-disturbed", "")
        assert task.dataset in task_names()
