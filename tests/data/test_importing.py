"""Importing: every format round trip with files written by its own library, and refusals that name file, episode and field."""

import json
import os
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from forking import run_script
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import walk
from mvl.cli import main
from mvl.data.importing import import_data, kind_of
from mvl.data.sources.episodes import ColumnNames
from mvl.data.sources.npz import load
from mvl.errors import DataError, MvlError, UsageError

TABLE = ColumnNames(observations=("q0", "q1"), actions=("u*",), time="t")


def made(count=5, rows=12):
    """Episodes as (observations, actions) pairs."""
    data = walk(episodes=count, rows=rows)
    cuts = list(zip(data.starts, data.ends + 1, strict=True))
    return [(data.observations[a:b], data.actions[a:b]) for a, b in cuts]


def write_csv(path, states, actions, times=None):
    times = np.arange(len(states)) if times is None else times
    rows = np.column_stack([times, states, actions])
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, rows, delimiter=",", header="t,q0,q1,u0,u1", comments="", fmt="%.9g")


def write_hdf5(path, pairs, data="data/"):
    with h5py.File(path, "w") as file:
        for index, (states, actions) in enumerate(pairs):
            group = file.create_group(f"{data}demo_{index}")
            group["obs/joints"], group["obs/gripper"] = states[:, :1], states[:, 1]
            group["actions"] = actions
            group["success"] = True


def write_lerobot(path, pairs, per_file):
    (path / "meta").mkdir(parents=True)
    (path / "meta" / "info.json").write_text(json.dumps({"codebase_version": "v3.0"}))
    for first in range(0, len(pairs), per_file):
        rows = [
            {"observation.state": s.tolist(), "action": a.tolist(), "timestamp": row / 20, "episode_index": first + index}
            for index, (states, actions) in enumerate(pairs[first : first + per_file])
            for row, (s, a) in enumerate(zip(states, actions, strict=True))
        ]
        (path / "data" / "chunk-000").mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(rows), path / "data" / "chunk-000" / f"file-{first:03d}.parquet")


def same(path, pairs):
    """The training and validation file hold these episodes, in order, one in five held out."""
    train, held = load(path), load(path.with_name(f"{path.stem}-val.npz"))
    for found, wanted in ((train, pairs[:-1]), (held, pairs[-1:])):
        assert np.allclose(found.observations, np.concatenate([states for states, _ in wanted]), atol=1e-6)
        assert np.allclose(found.actions, np.concatenate([actions for _, actions in wanted]), atol=1e-6)
        assert len(found.ends) == len(wanted)


def test_csv_folder(tmp_path):
    for index, pair in enumerate(made()):
        write_csv(tmp_path / "demos" / f"{index}.csv", *pair)
    done = import_data(tmp_path / "demos", tmp_path / "out.npz", columns=TABLE, held_out=0.2)
    assert (done.episodes, done.rescaled) == (5, False)
    same(tmp_path / "out.npz", made())


@pytest.mark.parametrize("data", ["data/", ""])
def test_hdf5_groups(tmp_path, data):
    pairs = made(12)  # demo_10 comes after demo_9
    write_hdf5(tmp_path / "demos.h5", pairs, data)
    fields = ColumnNames(observations=("obs/joints", "obs/gripper"), actions=("actions",))
    import_data(tmp_path / "demos.h5", tmp_path / "out.npz", columns=fields, held_out=1 / 12)
    same(tmp_path / "out.npz", pairs)


def test_hdf5_end_to_end_with_episode_numbers(tmp_path):
    pairs = made()
    with h5py.File(tmp_path / "flat.hdf5", "w") as file:
        file["observations"], file["actions"] = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        file["number"] = np.repeat(np.arange(5), 12)
    fields = ColumnNames(("observations",), ("actions",), episode="number")
    import_data(tmp_path / "flat.hdf5", tmp_path / "out.npz", columns=fields, held_out=0.2)
    same(tmp_path / "out.npz", pairs)


@pytest.mark.parametrize("per_file", [1, 3])
def test_lerobot(tmp_path, per_file):
    write_lerobot(tmp_path / "robot", made(), per_file)
    assert kind_of(tmp_path / "robot") == "lerobot"
    import_data(tmp_path / "robot", tmp_path / "out.npz", held_out=0.2)
    same(tmp_path / "out.npz", made())


def test_npz_flat_and_folder(tmp_path):
    pairs = made()
    states, actions = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    np.savez(tmp_path / "flat.npz", observations=states, actions=actions, terminals=np.arange(60) % 12 == 11)
    import_data(tmp_path / "flat.npz", tmp_path / "a.npz", held_out=0.2)
    same(tmp_path / "a.npz", pairs)
    (tmp_path / "folder").mkdir()
    for index, (states, actions) in enumerate(pairs):
        np.savez(tmp_path / "folder" / f"{index}.npz", observations=states, actions=actions)
    import_data(tmp_path / "folder", tmp_path / "b.npz", held_out=0.2)
    same(tmp_path / "b.npz", pairs)


@pytest.mark.filterwarnings("ignore")
def test_minari(tmp_path, monkeypatch):
    import gymnasium
    import minari

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    env = minari.DataCollector(gymnasium.make("Pendulum-v1", max_episode_steps=10))
    pairs = []
    for seed in range(5):
        states, actions = [env.reset(seed=seed)[0]], []
        for step in range(10):
            actions.append(np.array([np.sin(seed + step)], np.float32))
            states.append(env.step(actions[-1])[0])
        pairs.append((np.array(states), np.concatenate([actions, actions[-1:]])))
    env.create_dataset("pendulum/test-v0", algorithm_name="none", author="none", author_email="none", code_permalink="none")
    import_data(tmp_path / "minari" / "pendulum" / "test-v0", tmp_path / "out.npz", kind="minari", held_out=0.2)
    same(tmp_path / "out.npz", pairs)


def test_goals_and_units_come_along(tmp_path):
    """Goals of their own, and actions beyond [-1, 1] that the policy gives back in the user's units."""
    import mvl

    for index, (states, actions) in enumerate(made(10)):
        write_csv(tmp_path / "demos" / f"{index:02d}.csv", states, 30 * actions + 5)
    with pytest.raises(DataError, match=r"actions must lie in \[-1, 1\], but dimension . reaches .*; give --rescale"):
        import_data(tmp_path / "demos", tmp_path / "out.npz", columns=TABLE)
    assert not list(tmp_path.glob("*.npz"))
    fields = TABLE._replace(goals=("q1",))
    assert import_data(tmp_path / "demos", tmp_path / "out.npz", columns=fields, rescale=True).rescaled
    data = load(tmp_path / "out.npz")
    assert data.oracle.shape == (108, 1)
    assert np.abs(data.actions).max() <= 1 + 1e-6
    sizes = {"steps": 10, "steps_per_dispatch": 10, "log_every": 10, "eval_every": 10, "save_every": 10, "batch_size": 8}
    run = mvl.train(tmp_path / "out.npz", "bc", run=tmp_path / "run", **sizes)
    policy = mvl.load_policy(run)
    assert (policy.shapes.goal, policy.shapes.plain) == (1, False)
    untrained = policy.act(np.zeros(2), np.zeros(1))
    assert np.allclose(untrained, 5, atol=10)  # the middle of -25 .. 35
    assert np.abs(untrained).max() > 1


CSV_MISTAKES = {
    "ragged": ("t,q0,q1,u0,u1\n0,1,2,3\n", "line 2 has 4 values for 5 columns"),
    "short": ("t,q0,q1,u0,u1\n0,1,2,0,0\n", "has 1 row; an episode needs at least two"),
    "empty": ("", "the first line must name every column"),
    "nan": ("t,q0,q1,u0,u1\n0,1,2,0,0\n1,nan,2,0,0\n", "q0 is nan at row 1, dimension 0"),
    "clock": ("t,q0,q1,u0,u1\n0,1,2,0,0\n0,1,2,0,0\n", r"t does not run forward at row 1 \(0, then 0\)"),
    "text": ("t,q0,q1,u0,u1\n0,1,2,0,0\n1,x,2,0,0\n", "line 3: q0 is 'x', which is no number"),
    "missing": ("t,q0,u0,u1\n0,1,0,0\n1,1,0,0\n", "has no column q1; it has q0, t, u0, u1"),
    "width": ("t,q0,q1,u0\n0,1,2,0\n1,1,2,0\n", "actions has 1 dimensions, but 2 in .*0.csv"),
}


@pytest.mark.parametrize("mistake", CSV_MISTAKES)
def test_bad_tables_are_refused_by_file_and_field(tmp_path, mistake):
    text, message = CSV_MISTAKES[mistake]
    for index, pair in enumerate(made(3)):
        write_csv(tmp_path / "demos" / f"{index}.csv", *pair)
    (tmp_path / "demos" / "bad.csv").write_text(text)
    with pytest.raises(DataError, match=rf"bad\.csv: {message}"):
        import_data(tmp_path / "demos", tmp_path / "out.npz", columns=TABLE)
    assert not list(tmp_path.glob("*.npz"))


def test_archives_that_trick_are_refused(tmp_path):
    np.savez(tmp_path / "pickled.npz", observations=np.array([{}, 1], object), actions=np.zeros((2, 1)), terminals=[0, 1])
    with pytest.raises(DataError, match=r"pickled.npz: not a readable .npz file of plain arrays"):
        import_data(tmp_path / "pickled.npz", tmp_path / "out.npz")
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("observations.npy", b"\0" * 40_000_000)
    monster = tmp_path / "monster.npz"
    monster.write_bytes((tmp_path / "bomb.npz").read_bytes().replace((40_000_000).to_bytes(4, "little"), b"\xf0\xff\xff\xff"))
    with pytest.raises(DataError, match=r"claims to unpack from \d+ to 4294967280 bytes; refused"):
        import_data(monster, tmp_path / "out.npz")
    with pytest.raises(DataError, match="refused"):
        load(monster)
    for name in ("../../evil.npy", "/evil.npy", "a/..\\evil.npy", "evil.txt"):
        with zipfile.ZipFile(tmp_path / "path.npz", "w") as archive:
            archive.writestr(name, b"x")
        with pytest.raises(DataError, match="which no array has; refused"):
            import_data(tmp_path / "path.npz", tmp_path / "out.npz")


def test_other_refusals(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        import_data(tmp_path / "nothing.csv", tmp_path / "out.npz")
    with pytest.raises(UsageError, match="no format named 'cvs'; did you mean csv"):
        import_data(tmp_path, tmp_path / "out.npz", kind="cvs")
    with pytest.raises(DataError, match="no file of a known format; say which with --kind"):
        import_data(tmp_path, tmp_path / "out.npz")
    write_csv(tmp_path / "one" / "0.csv", *made(1)[0])
    with pytest.raises(DataError, match="has one episode, but training and validation need one each"):
        import_data(tmp_path / "one", tmp_path / "out.npz", columns=TABLE)
    write_csv(tmp_path / "one" / "1.csv", *made(1)[0])
    with pytest.raises(UsageError, match="holding out 0.9 of 2 episodes leaves one side empty"):
        import_data(tmp_path / "one", tmp_path / "out.npz", columns=TABLE, held_out=0.9)
    import_data(tmp_path / "one", tmp_path / "out.npz", columns=TABLE)
    with pytest.raises(MvlError, match="exists already; give --overwrite"):
        import_data(tmp_path / "one", tmp_path / "out.npz", columns=TABLE)
    for name, content in (("broken.h5", b"no"), ("broken.npz", b"no")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"{name}: not a readable"):
            import_data(tmp_path / name, tmp_path / "other.npz")
    np.savez(tmp_path / "open.npz", observations=np.zeros((4, 1)), actions=np.zeros((4, 1)), terminals=[0, 1, 0, 0])
    with pytest.raises(DataError, match="terminals does not mark the last row"):
        import_data(tmp_path / "open.npz", tmp_path / "other.npz")


KILLED = """
import sys
from pathlib import Path
from forking import check_every_kill
from mvl.data.importing import import_data
from mvl.data.sources.episodes import ColumnNames

folder, fields = Path(sys.argv[1]), ColumnNames(observations=("q0", "q1"), actions=("u*",), time="t")
run = lambda to: import_data(folder / "demos", to / "out.npz", columns=fields)
check_every_kill(folder, ["out.npz", "out-val.npz"], run)
"""


def test_an_import_killed_while_its_files_are_written_goes_on(tmp_path):
    for index, pair in enumerate(made()):
        write_csv(tmp_path / "demos" / f"{index}.csv", *pair)
    (tmp_path / "start").mkdir()
    run_script(KILLED, tmp_path)


def test_an_interrupted_import_does_not_let_another_replace_its_file(tmp_path, monkeypatch):
    for index, pair in enumerate(made()):
        write_csv(tmp_path / "demos" / f"{index}.csv", *pair)
    to, replace = tmp_path / "data" / "out.npz", os.replace

    def interrupted(source, target):
        if target.name == interrupted.name and target.parent == to.parent:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    interrupted.name = "out.npz"
    with pytest.raises(KeyboardInterrupt):
        import_data(tmp_path / "demos", to, columns=TABLE, held_out=0.2)
    assert not list(to.parent.iterdir())  # nothing was moved yet, so nothing stays
    interrupted.name = "out-val.npz"
    with pytest.raises(KeyboardInterrupt):
        import_data(tmp_path / "demos", to, columns=TABLE, held_out=0.2)
    monkeypatch.undo()
    content = to.read_bytes()
    with pytest.raises(MvlError, match="out.npz exists already; give --overwrite"):
        import_data(tmp_path / "demos", to, columns=TABLE, held_out=0.4)
    assert to.read_bytes() == content
    import_data(tmp_path / "demos", to, columns=TABLE, held_out=0.2)
    same(to, made())


def test_ragged_lists_in_parquet(tmp_path):
    pairs = made(2)
    write_lerobot(tmp_path / "robot", pairs, 1)
    file = next((tmp_path / "robot" / "data").rglob("*000.parquet"))
    rows = parquet.read_table(file).to_pylist()
    rows[3]["action"] = [0.0]
    parquet.write_table(pa.Table.from_pylist(rows), file)
    with pytest.raises(DataError, match=r"parquet, episode 0: action is ragged or not numeric"):
        import_data(tmp_path / "robot", tmp_path / "out.npz")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=400) | st.text(alphabet="0123456789.,-naife\nqut", max_size=400).map(str.encode))
@pytest.mark.parametrize("ending", ["npz", "csv", "h5"])
def test_no_file_makes_it_crash(tmp_path, ending, content):
    """Whatever is in a file, it is refused in one sentence, and nothing is written."""
    bad = tmp_path / f"bad.{ending}"
    bad.write_bytes(content)
    with pytest.raises(MvlError):
        import_data(bad, tmp_path / "out.npz", columns=TABLE)
    assert not (tmp_path / "out.npz").exists()


def test_the_command(tmp_path, capsys):
    for index, pair in enumerate(made(10)):
        write_csv(tmp_path / "demos" / f"{index}.csv", *pair)
    source, to = str(tmp_path / "demos"), str(tmp_path / "out.npz")
    named = ["--observations", "q0", "q1", "--actions", "u*", "--time", "t"]
    assert main(["data", "import", source, "--to", to, *named]) == 0
    shown = capsys.readouterr().out
    assert "10 episodes" in shown
    assert "looks wrong:" in shown
    assert main(["data", "import", source, "--to", to]) == 1
    assert "exists already" in capsys.readouterr().err
    assert main(["data", "import", source, "--to", str(tmp_path / "out.txt")]) == 2
