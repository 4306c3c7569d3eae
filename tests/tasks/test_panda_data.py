"""Demonstrations of the Panda: they succeed, can be replayed, vary, and are saved as a lab has them."""

import json

import numpy as np
import pytest

pytest.importorskip("gymnasium_robotics")
pytest.importorskip("mink")

from mvl.cli import main
from mvl.data import generation
from mvl.errors import DataError, MvlError, UsageError
from mvl.tasks import datasets, find_task
from mvl.tasks.panda import LIMITS, job
from mvl.tasks.panda.demonstrator import ATTEMPTS, PandaGenerator
from mvl.tasks.panda.environment import DELTA, RATE, Panda
from mvl.tasks.panda.places import goals

TASK = find_task("panda-reach-grasp")
JOBS = [job(name, sees) for name in LIMITS for sees in (False, True)]


@pytest.fixture(scope="module")
def generators():
    return {wanted.name: PandaGenerator(wanted) for wanted in JOBS}


@pytest.mark.parametrize("name", [wanted.name for wanted in JOBS])
def test_the_saved_goals_are_ends_of_successful_demonstrations(generators, name):
    for saved, found in zip(goals(name), generators[name].goals(), strict=True):
        assert found.observation == pytest.approx(saved.observation, abs=2e-3)
        for place, again in zip(saved.layout, found.layout, strict=True):
            assert again == pytest.approx(place, abs=1e-4)


@pytest.mark.parametrize("name", ["reach-grasp", "pick-place-object"])
def test_a_demonstration_is_determined_by_its_seed_and_succeeds_when_replayed(generators, name):
    generator = generators[name]
    columns = generator.episode(3)
    assert all(np.array_equal(columns[key], again) for key, again in generator.episode(3).items())
    assert not np.array_equal(generator.episode(4)["actions"][0], columns["actions"][0])
    generator.episode(3)
    env: Panda = generator.env
    env.begin(env.layout)
    env.data.qpos[:], env.target = columns["qpos"][0], columns["qpos"][0, :7].astype(float)
    success = False
    for action, joints in zip(columns["actions"], columns["observations"][:, :7], strict=True):
        assert env.data.qpos[:7] == pytest.approx(joints, abs=1e-3)
        *_, info = env.step(action)
        success = info["success"]
    assert success


def test_columns_of_a_demonstration(generators):
    columns = generators["pick-place"].episode(0)
    rows = len(columns["terminals"])
    shapes = {name: array.shape for name, array in columns.items()}
    assert shapes == {
        "observations": (rows, 8),
        "actions": (rows, 8),
        "commands": (rows, 8),
        "qpos": (rows, 16),
        "qvel": (rows, 15),
        "terminals": (rows,),
    }
    assert columns["terminals"].tolist() == [False] * (rows - 1) + [True]
    changes = np.diff(columns["commands"][:, :7], axis=0)
    assert changes == pytest.approx(DELTA * columns["actions"][1:, :7], abs=1e-5)
    assert np.array_equal(columns["commands"][:, 7], (columns["actions"][:, 7] > 0))
    assert set(columns["observations"][:, 7]) == {0, 1}


def test_demonstrations_that_fail_are_left_out(generators, monkeypatch):
    generator, attempt, tried = generators["reach-grasp"], PandaGenerator.attempt, []

    def attempted(self, *arguments):
        tried.append(attempt(self, *arguments))
        return tried[-1] if len(tried) == 3 else None

    monkeypatch.setattr(PandaGenerator, "attempt", attempted)
    columns = generator.episode(0)
    assert len(tried) == 3
    assert np.array_equal(columns["actions"][0], tried[2][0]["actions"])
    monkeypatch.setattr(PandaGenerator, "attempt", lambda *_: tried.append(None))
    with pytest.raises(MvlError, match="no demonstration of seed 0 succeeded in 20 attempts; try another --seed"):
        generator.episode(0)
    assert len(tried) == 3 + ATTEMPTS


def test_a_demonstration_without_success_is_no_attempt(generators, monkeypatch):
    monkeypatch.setattr(Panda, "success", lambda self: False)
    generator = generators["reach-grasp"]
    random = np.random.default_rng(0)
    assert generator.attempt(generator._layout(random, 0), random) is None


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three training episodes and their recordings."""
    pytest.importorskip("h5py")
    folder = tmp_path_factory.mktemp("made")
    wanted = ["panda-reach-grasp", "--data", folder, "--episodes", "3", "--workers", "1", "--raw", folder / "raw"]
    assert main(["data", "generate", *map(str, wanted)]) == 0
    return folder


def test_recordings_are_those_of_a_lab(made):
    import h5py

    files = sorted((made / "raw").iterdir())
    assert [file.name for file in files] == [f"episode_000{number}.hdf5" for number in range(3)]
    with np.load(made / "panda-reach-grasp-v0.npz") as train:
        ends = np.flatnonzero(train["terminals"]) + 1
        for file, rows in zip(files, np.split(np.arange(ends[-1]), ends[:-1]), strict=True):
            with h5py.File(file) as root:
                assert dict(root.attrs) == {"hz": RATE, "sim": True, "task": "panda-reach-grasp-v0", "seed": 0}
                assert np.array_equal(root["observations/qpos"], train["observations"][rows])
                assert np.array_equal(root["action"], train["commands"][rows])
                assert root["timestamps"][:3] == pytest.approx([0, 0.05, 0.1])


def test_the_same_command_replaces_its_own_recordings_only(made, tmp_path, monkeypatch):
    """As after an interruption between the recordings and the dataset."""
    kept = {file.name: file.read_bytes() for file in (made / "raw").iterdir()}
    for name, content in kept.items():
        (tmp_path / name).write_bytes(content)
    options = {"episodes": 3, "workers": 1, "raw": tmp_path}
    started = []
    monkeypatch.setattr(generation, "_generate_missing", lambda *arguments: started.append(arguments))
    monkeypatch.setattr(generation.RawFolder, "write", lambda self, files: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        datasets.generate(TASK, tmp_path / "data", **options)
    with pytest.raises(
        MvlError, match=r"episode_0000.hdf5 exists already; give --overwrite .* or name another folder with --raw"
    ):
        datasets.generate(TASK, tmp_path / "data", seed=1, **options)
    with pytest.raises(KeyboardInterrupt):
        datasets.generate(TASK, tmp_path / "data", seed=1, overwrite=True, **options)
    assert len(started) == 2
    assert {file.name: file.read_bytes() for file in tmp_path.glob("*.hdf5")} == kept


def test_overwritten_recordings_leave_no_old_ones(made, tmp_path):
    for number in range(5):
        (tmp_path / f"episode_000{number}.hdf5").write_text("another")
    (tmp_path / "notes.txt").write_text("mine")
    files = [tmp_path / f"{number}.npz" for number in range(2)]
    for file in files:
        np.savez(file, observations=np.zeros((3, 8)), commands=np.ones((3, 8)))
    folder = generation.RawFolder(tmp_path, TASK.recording, {"task": "a", "seed": 1}, overwrite=True)
    folder.write(files)
    assert [file.name for file in sorted(tmp_path.glob("*.hdf5"))] == ["episode_0000.hdf5", "episode_0001.hdf5"]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_has_no_recordings_is_told(tmp_path):
    with pytest.raises(UsageError, match="pointmaze-medium-navigate-v0 has no recordings, .*panda-reach-grasp-v0"):
        datasets.generate(find_task("pointmaze-medium-navigate"), tmp_path, raw=tmp_path / "raw")
    (tmp_path / "file").touch()
    with pytest.raises(MvlError, match="file is not a folder"):
        datasets.generate(TASK, tmp_path, raw=tmp_path / "file")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_missing_data_can_be_made_but_not_fetched(tmp_path):
    with pytest.raises(DataError) as error:
        TASK.find_data(tmp_path)
    assert str(error.value).endswith(f"make it with: mvl data generate panda-reach-grasp-v0 --data {tmp_path}")


@pytest.fixture(scope="module")
def trained(made):
    """A run of a hundred steps, with one episode for each goal."""
    short = (
        "--steps 100 --steps-per-dispatch 50 --eval-every 100 --eval-episodes 1 --log-every 100 --save-every 100 --batch-size 16"
    )
    words = f"train panda-reach-grasp --recipe gcivl --seeds 1 --workers 1 {short} --value.widths 8 8 --policy.widths 8 8"
    assert main([*words.split(), "--data", str(made), "--run", str(made / "run")]) == 0
    return made / "run"


def test_a_policy_is_played_with_disturbances(trained, capsys):
    assert (
        main(["eval", str(trained), "--task", "panda-reach-grasp-disturbed", "--episodes", "1", "--workers", "1", "--json"]) == 0
    )
    (row,) = json.loads(capsys.readouterr().out)
    assert len(row["tasks"]) == 5


def test_a_policy_is_not_played_where_it_does_not_fit(trained, capsys):
    assert main(["eval", str(trained), "--task", "panda-reach-grasp-object"]) == 2
    assert "has observations of 15 numbers and goals of 15, but this policy takes 8 and 8" in capsys.readouterr().err
    assert main(["eval", str(trained), "--task", "panda-reach-grasp", "--env", "mvl.tasks.panda.lab:reach_grasp"]) == 2
    assert "--env and --task both say where to play" in capsys.readouterr().err


def test_states_are_standardized_unless_told_otherwise(trained):
    assert json.loads((trained / "run.json").read_text())["recipe"]["learning"]["normalize"] is True
    assert find_task("panda-pick-place").settings("implicit_v").learning["normalize"] is True
