"""Generated pointmaze data: layout, repeatability, and that the walker walks."""

import numpy as np
import pytest
from forking import run_script

from mvl.data.sources.npz import load
from mvl.errors import MvlError, UsageError
from mvl.processes import Worker
from mvl.tasks import find_task, task_names
from mvl.tasks.datasets import generate

NAVIGATE = find_task("pointmaze-medium-navigate-v0")
STITCH = find_task("pointmaze-medium-stitch-v0")


def test_sizes_are_those_of_the_published_sets():
    shape = lambda name: (find_task(name).size.episodes, find_task(name).size.rows)
    assert shape("pointmaze-medium-navigate-v0") == (1000, 1001)
    assert shape("pointmaze-teleport-navigate-v0") == (1000, 1001)
    assert shape("pointmaze-giant-navigate-v0") == (500, 2001)
    assert shape("pointmaze-large-stitch-v0") == (5000, 201)


def test_files_load_in_ogbench_and_do_not_depend_on_the_workers(tmp_path):
    import ogbench

    seen = []
    made = [generate(NAVIGATE, tmp_path / str(w), episodes=4, workers=w, report=lambda *a: seen.append(a)) for w in (1, 2)]
    for one, two in zip(*made, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert seen[:6] == [(done, 5) for done in range(6)]
    other = generate(NAVIGATE, tmp_path / "other", episodes=4, seed=1)
    assert other[0].read_bytes() != made[0][0].read_bytes()

    train, validation = ogbench.make_env_and_datasets(str(NAVIGATE), dataset_dir=tmp_path / "1", dataset_only=True)
    assert train["observations"].shape == (4000, 2)
    assert validation["observations"].shape == (1000, 2)
    with np.load(made[0][0]) as file:
        again = tmp_path / "again.npz"
        np.savez_compressed(again, **{key: file[key] for key in file.files})
        assert again.read_bytes() == made[0][0].read_bytes()  # as NumPy writes it, compressed and undated
        assert set(file.files) == {"observations", "actions", "terminals", "qpos", "qvel"}
        assert file["observations"].dtype == np.float32
        assert file["terminals"].dtype == bool
        assert (file["observations"] == file["qpos"]).all()
    dataset = load(made[0][0])
    assert 0.15 < dataset.statistics.step < 0.25  # a point moves 0.2 times its action

    with pytest.raises(MvlError, match="exists already; give --overwrite"):
        generate(NAVIGATE, tmp_path / "1", episodes=4)


def test_the_navigator_reaches_goal_after_goal():
    walker = NAVIGATE.generator()
    reached = []
    move = walker.env.set_goal
    walker.env.set_goal = lambda *args, **kwargs: (reached.append(1), move(*args, **kwargs))
    rows = walker.episode(0)
    assert len(reached) - 2 > 3  # two calls belong to the reset
    assert rows["observations"].std(axis=0).min() > 2  # it gets around
    assert np.abs(rows["actions"]).max() <= 1
    again = NAVIGATE.generator().episode(0)
    assert all((rows[key] == again[key]).all() for key in rows)


def test_the_stitcher_goes_four_cells_and_stays():
    walker = find_task("pointmaze-medium-stitch-v0").generator()
    rows = walker.episode(3)["observations"]
    assert len(rows) == 201
    cells = [walker.env.xy_to_ij(row) for row in rows]
    assert walker.shortest_path(cells[0], cells[-1])[1][cells[0]] == 4
    assert len(set(cells[-60:])) == 1


def test_the_teleporter_teleports():
    rows = np.concatenate(
        [find_task("pointmaze-teleport-navigate-v0").generator().episode(seed)["observations"] for seed in range(3)]
    )
    inside = np.linalg.norm(np.diff(rows, axis=0), axis=1)
    assert np.sum(inside[np.arange(len(inside)) % 1001 != 1000] > 3) >= 1


def test_what_cannot_be_made_says_what_can(tmp_path):
    with pytest.raises(UsageError, match="antsoccer-arena-navigate-v0 cannot be generated; these can: antmaze-medium"):
        generate(find_task("antsoccer-arena-navigate-v0"), tmp_path)


def test_an_interrupted_generation_goes_on_where_it_stopped(tmp_path):
    whole = generate(STITCH, tmp_path / "whole", episodes=5, workers=1)

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(STITCH, tmp_path / "broken", episodes=5, workers=1, report=stop)
    kept = sorted((tmp_path / "broken" / f".{STITCH}.made").glob("?.npz"))
    assert len(kept) >= 3
    assert not (tmp_path / "broken" / f"{STITCH}.npz").exists()
    seen = []
    again = generate(STITCH, tmp_path / "broken", episodes=5, workers=1, report=lambda *counts: seen.append(counts))
    assert seen[0] == (len(kept), 6)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in whole]
    assert sorted(path.name for path in (tmp_path / "broken").iterdir()) == sorted(path.name for path in again)


KILLED = """
import sys
from pathlib import Path
from forking import check_every_kill
from mvl.tasks import find_task
from mvl.tasks.datasets import generate

task = find_task(sys.argv[2])
run = lambda folder: generate(task, folder, episodes=2, workers=1)
check_every_kill(Path(sys.argv[1]), [f"{task}.npz", f"{task}-val.npz"], run)
"""


def test_a_generation_killed_while_its_files_are_written_goes_on(tmp_path):
    def stop(done, total):
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(STITCH, tmp_path / "start", episodes=2, workers=1, report=stop)
    run_script(KILLED, tmp_path, STITCH)


def test_files_of_others_are_not_replaced(tmp_path):
    """Neither at the start nor by what is left of an interrupted generation, however little of the pair is there."""

    def put_in_the_way(done, total):
        if done == total:
            (tmp_path / f"{STITCH}-val.npz").write_bytes(b"precious")

    for part in ("", "-val"):
        path = tmp_path / f"{STITCH}{part}.npz"
        path.write_bytes(b"precious")
        with pytest.raises(MvlError, match=f"{path.name} exists already; give --overwrite to mvl data generate"):
            generate(STITCH, tmp_path, episodes=2, workers=1)
        assert [file.name for file in tmp_path.iterdir()] == [path.name]
        path.unlink()
    with pytest.raises(MvlError, match="-val.npz exists already"):
        generate(STITCH, tmp_path, episodes=2, workers=1, report=put_in_the_way)
    assert (tmp_path / f"{STITCH}-val.npz").read_bytes() == b"precious"
    assert not (tmp_path / f"{STITCH}.npz").exists()
    with pytest.raises(MvlError, match="-val.npz exists already"):
        generate(STITCH, tmp_path, episodes=2, workers=1)
    train, validation = generate(STITCH, tmp_path, episodes=2, workers=1, overwrite=True, report=_nothing_is_made)
    assert len(load(train).ends) == 2
    assert len(load(validation).ends) == 1
    with pytest.raises(MvlError, match="exists already"):
        generate(STITCH, tmp_path, episodes=2, workers=1)


def _nothing_is_made(done: int, total: int) -> None:
    assert done == total


def test_a_worker_that_is_killed_is_replaced(tmp_path, monkeypatch):
    stitch, started, start = find_task("pointmaze-medium-stitch-v0"), [], Worker._start
    monkeypatch.setattr(Worker, "_start", lambda worker: (start(worker), started.append(worker.process)))

    def kill(done, total):
        if done == 2:
            started[0].kill()

    whole = generate(stitch, tmp_path / "whole", episodes=5, workers=1)
    started.clear()
    broken = generate(stitch, tmp_path / "broken", episodes=5, workers=1, report=kill)
    assert len(started) == 2
    assert [path.read_bytes() for path in broken] == [path.read_bytes() for path in whole]


def test_episodes_of_another_plan_are_not_used(tmp_path):

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(STITCH, tmp_path / "one", episodes=3, seed=1, workers=1, report=stop)
    changed = generate(STITCH, tmp_path / "one", episodes=3, seed=2, workers=1)
    alone = generate(STITCH, tmp_path / "two", episodes=3, seed=2, workers=1)
    assert changed[0].read_bytes() == alone[0].read_bytes()


def test_names():
    assert find_task("pointmaze-medium-navigate") == NAVIGATE
    assert str(find_task("scene-play-v0")) == "scene-play-v0"
    assert "antmaze-giant-explore-v0" not in task_names()
    with pytest.raises(UsageError, match="did you mean pointmaze-medium-navigate-v0"):
        find_task("pointmaze-medum-navigate-v0")


def test_every_known_task_has_an_environment():
    import gymnasium
    import ogbench  # noqa: F401

    for task in task_names().values():
        if task.origin == "download":  # OGBench's
            assert f"{task.world}-v0" in gymnasium.registry
