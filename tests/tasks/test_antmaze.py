"""Generated ant data: layout, repeatability, and that the ant gets where the path leads."""

import numpy as np

from mvl.tasks import find_task
from mvl.tasks.datasets import generate
from mvl.tasks.maze import MazeGenerator


def maker(name: str, rows: int) -> MazeGenerator:
    made = find_task(name).generator()
    made.rows = rows
    return made


def test_sizes_are_those_of_the_published_sets():
    shape = lambda name: (find_task(name).size.episodes, find_task(name).size.rows)
    assert shape("antmaze-medium-navigate-v0") == (1000, 1001)
    assert shape("antmaze-giant-navigate-v0") == (500, 2001)
    assert shape("antmaze-large-stitch-v0") == (5000, 201)
    assert shape("antmaze-medium-explore-v0") == (10000, 501)


def test_layout_and_repeatability():
    made = maker("antmaze-medium-navigate-v0", 101)
    rows, again, other = made.episode(0), maker("antmaze-medium-navigate-v0", 101).episode(0), made.episode(1)
    assert {name: column.shape for name, column in rows.items()} == {
        "observations": (101, 29), "actions": (101, 8), "terminals": (101,), "qpos": (101, 15), "qvel": (101, 14),
    }  # fmt: skip
    assert rows["observations"].dtype == rows["actions"].dtype == np.float32
    assert np.array_equal(rows["observations"], np.concatenate([rows["qpos"], rows["qvel"]], axis=1))
    assert np.abs(rows["actions"]).max() <= 1
    assert all((rows[key] == again[key]).all() for key in rows)
    assert not (rows["observations"] == other["observations"]).all()


def test_the_ant_reaches_goal_after_goal():
    """The reference walker reaches 4.8 goals in an episode of 1000 steps."""
    made = find_task("antmaze-medium-navigate-v0").generator()
    reached = []
    move = made.env.set_goal
    made.env.set_goal = lambda *args, **kwargs: (reached.append(1), move(*args, **kwargs))
    episodes = [made.episode(seed) for seed in range(4)]
    assert len(reached) - 2 * 4 >= 2 * 4  # two calls belong to each reset
    lengths = [np.linalg.norm(np.diff(rows["observations"][:, :2], axis=0), axis=1) for rows in episodes]
    assert 0.08 < np.mean(lengths) < 0.4


def test_the_explorer_keeps_its_direction_for_ten_steps_and_is_noisy():
    made = maker("antmaze-medium-explore-v0", 61)
    told = []
    walk = made.walk
    made.walk = lambda observation, direction: told.append(direction) or walk(observation, direction)
    rows = made.episode(2)
    turns = np.flatnonzero(np.linalg.norm(np.diff(told, axis=0), axis=1) > 1e-9) + 1
    assert turns.tolist() == [10, 20, 30, 40, 50, 60]
    assert np.mean(np.abs(rows["actions"]) == 1) > 0.2  # noise of one reaches the bounds often


def test_a_small_set_loads_in_ogbench(tmp_path):
    import ogbench

    task = find_task("antmaze-medium-stitch-v0")
    generate(task, tmp_path, episodes=2, workers=1)
    train, validation = ogbench.make_env_and_datasets(str(task), dataset_dir=tmp_path, dataset_only=True)
    assert train["observations"].shape == (400, 29)
    assert validation["actions"].shape == (200, 8)
