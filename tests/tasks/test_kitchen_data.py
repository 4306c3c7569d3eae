"""The kitchen's data on its way from Minari's store to our files, recorded by Minari in the real environment."""

import os
import shutil

import numpy as np
import pytest
from forking import run_script
from kitchen_demos import EPISODES, NAME, STEPS, needs_kitchen, record

from mvl.cli import main
from mvl.data.sources.npz import load
from mvl.tasks import find_task, task_names
from mvl.tasks.kitchen import positions

needs_kitchen()
from minari.storage import get_dataset_path  # noqa: E402

TASK = "kitchen-partial-v2"


def test_names():
    kitchens = [name for name in task_names() if name.startswith("kitchen")]
    assert kitchens == ["kitchen-partial-v2", "kitchen-mixed-v2", "kitchen-complete-v2"]  # none has an oracle
    assert find_task("kitchen-mixed") == find_task("kitchen-mixed-v2")
    assert find_task("kitchen-partial").subtasks == ("microwave", "kettle", "light switch", "slide cabinet")
    assert find_task("kitchen-complete").subtasks == find_task("kitchen-partial").subtasks
    assert find_task("kitchen-mixed").subtasks == ("microwave", "kettle", "bottom burner", "light switch")
    assert find_task("scene-play").subtasks == ()


def test_positions_without_velocities():
    assert positions(np.arange(59)).tolist() == [*range(9), *range(18, 39)]
    assert positions(np.zeros((4, 59))).shape == (4, 30)


def test_recorded_episodes_arrive_as_they_were(tmp_path, monkeypatch, capsys):
    made = record(tmp_path / "minari", monkeypatch)
    monkeypatch.setenv("MVL_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("minari.download_dataset", lambda name: pytest.fail("it is there already"))
    assert main(["data", "pull", "kitchen-partial"]) == 0
    assert str(tmp_path / "data" / f"{TASK}-val.npz") in capsys.readouterr().out
    train, held = (load(tmp_path / "data" / f"{TASK}{part}.npz") for part in ("", "-val"))
    assert (len(train.ends), len(held.ends)) == (EPISODES - 1, 1)
    assert (train.observations.shape, train.actions.shape) == ((9 * (STEPS + 1), 30), (9 * (STEPS + 1), 9))
    found = np.concatenate([train.observations, held.observations]).reshape(EPISODES, STEPS + 1, 30)
    done = np.concatenate([train.actions, held.actions]).reshape(EPISODES, STEPS + 1, 9)
    for index, (states, actions) in enumerate(made):
        assert np.array_equal(found[index], np.hstack([states[:, :9], states[:, 18:39]]).astype(np.float32))
        assert np.array_equal(done[index, :-1], actions.astype(np.float32))
    assert main(["data", "list"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("kitchen")]
    assert [row[1:3] for row in rows] == [["download", "(Minari)"]] * 3
    assert "cached" in rows[0]
    assert "cached" not in rows[1]
    first = (tmp_path / "data" / f"{TASK}.npz").stat().st_mtime_ns
    assert main(["data", "pull", TASK]) == 0  # at hand: kept
    assert (tmp_path / "data" / f"{TASK}.npz").stat().st_mtime_ns == first


def test_without_a_network_nothing_stays_and_the_message_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    place = tmp_path / "minari" / NAME

    def breaks_off(name):
        (get_dataset_path(name) / "data").mkdir(parents=True)
        raise ConnectionError("Name or service not known")

    monkeypatch.setattr("minari.download_dataset", breaks_off)
    assert main(["data", "pull", TASK, "--data", str(tmp_path / "data")]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"mvl: {NAME} could not be fetched through Minari (Name or service not known)")
    assert f"Minari store to {place}" in error
    assert len(error.strip().splitlines()) == 1
    assert not list((tmp_path / "minari").iterdir())
    assert not (tmp_path / "data").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
import minari
from minari.storage import get_dataset_path
from mvl.tasks import find_task
from mvl.tasks.datasets import fetch

def killed(name):
    (get_dataset_path(name) / "data").mkdir(parents=True)
    os.kill(os.getpid(), signal.SIGKILL)

child = os.fork()
if not child:
    minari.download_dataset = killed
    fetch(find_task("kitchen-partial"), Path(sys.argv[1]))
assert os.waitpid(child, 0)[1] == signal.SIGKILL
"""


def test_half_of_a_killed_download_is_not_taken_for_the_dataset(tmp_path, monkeypatch, capsys):
    record(tmp_path / "remote", monkeypatch)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    run_script(KILLED, tmp_path / "data")
    monkeypatch.setattr(
        "minari.download_dataset", lambda name: shutil.copytree(tmp_path / "remote", get_dataset_path(), dirs_exist_ok=True)
    )
    assert main(["data", "pull", TASK, "--data", str(tmp_path / "data")]) == 0
    assert len(load(tmp_path / "data" / f"{TASK}.npz").ends) == EPISODES - 1
    assert [path.name for path in (tmp_path / "minari").iterdir()] == ["D4RL"]


def test_half_a_pair_of_others_is_left_alone_and_half_of_its_own_completed(tmp_path, monkeypatch, capsys):
    record(tmp_path / "minari", monkeypatch)
    paths, replace = [tmp_path / "data" / f"{TASK}{part}.npz" for part in ("", "-val")], os.replace
    command = ["data", "pull", TASK, "--data", str(tmp_path / "data")]
    (tmp_path / "data").mkdir()
    for path in paths:
        path.write_bytes(b"precious")
        assert main(command) == 1
        assert f"{path.name} exists already; move it away" in capsys.readouterr().err
        assert path.read_bytes() == b"precious"
        path.unlink()

    def interrupted(source, target):
        if target == paths[1]:
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        assert main(command) == 130
    assert [path.exists() for path in paths] == [True, False]
    assert main(command) == 0
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == sorted(path.name for path in paths)


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (["data", "generate", TASK], 2, "kitchen-partial-v2 cannot be generated; these can: antmaze"),
        (
            ["data", "pull", TASK, "--source", "http://127.0.0.1:9"],
            2,
            "kitchen-partial-v2 comes through Minari; leave --source out",
        ),
        (["data", "check", TASK, "--data", "nowhere"], 1, "fetch it with: mvl data pull kitchen-partial-v2 --data nowhere"),
        (["data", "check", "kitchen-partial-v0"], 2, "did you mean kitchen-partial-v2"),
    ],
)
def test_commands_that_cannot_work_say_what_would(capsys, command, code, message):
    assert main(command) == code
    assert message in capsys.readouterr().err


def test_another_environment_s_episodes_are_refused(tmp_path, monkeypatch, capsys):
    record(tmp_path / "minari", monkeypatch)
    monkeypatch.setattr("mvl.tasks.kitchen.OBSERVATION_SIZE", 60)
    assert main(["data", "pull", TASK, "--data", str(tmp_path)]) == 1
    assert f"{NAME}: observations have 59 numbers instead of 60; check $MINARI_REMOTE" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.npz"))
