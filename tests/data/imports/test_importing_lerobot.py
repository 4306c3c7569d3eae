"""Importing LeRobot: all versions, counts that do not match, and Parquet files that are damaged or claim too much."""

import contextlib
import json
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from layouts import lerobot_info, lerobot_table, made, same, write_lerobot

from mvl.data.imports.importing import import_data
from mvl.data.signals import Signal
from mvl.data.sources import lerobot
from mvl.data.sources import parquet as reader
from mvl.data.sources.episodes import ColumnNames
from mvl.data.sources.kinds import kind_of
from mvl.data.sources.npz import load
from mvl.data.sources.parquet_footer import chunks
from mvl.data.sources.reading import Listener
from mvl.errors import DataError, UsageError


@pytest.fixture
def robot(tmp_path):
    """A dataset of version 3 with five episodes in two files."""
    write_lerobot(tmp_path / "robot", made())
    return tmp_path / "robot"


def files(robot):
    return sorted((robot / "data").rglob("*.parquet"))


def change_info(robot, **changes):
    info = json.loads((robot / "meta" / "info.json").read_text())
    (robot / "meta" / "info.json").write_text(json.dumps({**info, **changes}))


@pytest.mark.parametrize("version", ["v2.0", "v2.1", "v3.0"])
@pytest.mark.parametrize("batch", [5, 2**16])
def test_all_versions(tmp_path, monkeypatch, version, batch):
    monkeypatch.setattr(reader, "BATCH", batch)  # batches that end within an episode, and files within a batch
    notes, told = [], []
    write_lerobot(tmp_path / "robot", made(12), version)
    assert kind_of(tmp_path / "robot") == "lerobot"
    listener = Listener(notes.append, lambda done, total: told.append((done, total)))
    import_data(tmp_path / "robot", tmp_path / "out.npz", held_out=1 / 12, listener=listener)
    assert same(tmp_path / "out.npz", made(12))
    assert notes == ["observations: observation.state; actions: action", "images that are not used: observation.images.top"]
    assert told[0] == (12, 144)
    assert told[-1] == (144, 144)


def test_lists_of_any_length_and_other_types(tmp_path, robot):
    """Lists of variable length and of whole numbers, as written from Python objects."""
    file = files(robot)[0]
    table = parquet.read_table(file)
    lists = pa.array([list(row) for row in np.arange(72).reshape(36, 2).tolist()])
    parquet.write_table(table.append_column("observation.extra", lists).append_column("grip", pa.array([True] * 36)), file)
    change_info(robot, total_episodes=3, total_frames=36)
    files(robot)[1].unlink()
    names = ColumnNames(observations=("observation.extra", "grip"))
    import_data(robot, tmp_path / "out.npz", columns=names)
    assert load(tmp_path / "out.npz").observations[:2].tolist() == [[0, 1, 1], [2, 3, 1]]


def test_names_and_rate(robot):
    signals = lerobot.source_signals(robot, lerobot.defaults(robot))
    assert signals.observations == (Signal("observation.state", ("shoulder", "elbow")),)
    assert signals.actions == (Signal("action", ("shoulder", "elbow")),)
    assert signals.hz == 20


NAMES = {
    "by joint": (["a (deg)", "b (deg)"], {}, ("a", "b"), "deg"),
    "by place": ({"b": 1, "a": 0}, {"unit": "m"}, ("a", "b"), "m"),
    "too few": (["a"], {}, ("action_0", "action_1"), ""),
    "nothing": (None, {"units": "rad"}, ("action_0", "action_1"), "rad"),
    "something else": ("ab", {}, ("action_0", "action_1"), ""),
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_dimensions(robot, kind):
    names, unit, labels, found = NAMES[kind]
    change_info(robot, features={"action": {"dtype": "float32", "shape": [2], "names": names, **unit}})
    assert lerobot.source_signals(robot, lerobot.defaults(robot)).actions == (Signal("action", labels, found),)


def test_missing_files_are_noticed_before_anything_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(lerobot, "batches", lambda *args: pytest.fail("it began"))
    for version, counts in (("v2.1", "5 episodes, but 4 were found"), ("v3.0", "60 rows, but 36 were found")):
        robot = tmp_path / version
        write_lerobot(robot, made(), version)
        files(robot)[-1].unlink()
        with pytest.raises(DataError, match=f"{version}: meta/info.json says {counts} under data/; fetch all of its files"):
            import_data(robot, tmp_path / "out.npz")


def test_episodes_are_counted(tmp_path, robot):
    change_info(robot, total_episodes=7)
    with pytest.raises(DataError, match="says 7 episodes, but 5 were found under data/; .* or correct total_episodes"):
        import_data(robot, tmp_path / "out.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["robot"]


def test_an_episode_has_one_place(tmp_path, robot):
    parquet.write_table(lerobot_table(made(2), first=1), files(robot)[1])
    with pytest.raises(DataError, match="file-001.parquet, episode 1: has rows in two places"):
        import_data(robot, tmp_path / "out.npz")


def test_ends_are_no_option(tmp_path, robot):
    with pytest.raises(UsageError, match="episodes of LeRobot have numbers; leave --ends out"):
        import_data(robot, tmp_path / "out.npz", columns=ColumnNames(ends="next.done"))


def replaced(name, column):
    """Replaces a column of the first file."""
    table = lerobot_table(made()[:3], 0)
    return table.set_column(table.column_names.index(name), name, column)


ROWS = [[0.0, 1.0]] * 36
COLUMNS = {
    "ragged": ("action", pa.array([[0.0], *ROWS[1:]]), "episode 0: action is ragged or not numeric"),
    "ragged between batches": ("action", pa.array([*ROWS[1:], [0.0]]), "episode 2: action is ragged or not numeric"),
    "missing list": ("action", pa.array([None, *ROWS[1:]]), "episode 0: action is ragged or not numeric"),
    "missing number": ("action", pa.array([[None, 0.0], *ROWS[1:]]), "episode 0: action is nan at row 0, dimension 0"),
    "text": ("action", pa.array(["x"] * 36), "episode 0: action is ragged or not numeric"),
    "large": ("action", pa.array([[0.0, 1e39], *ROWS[1:]]), "episode 0: action is 1e.39 at row 0, dimension 1"),
    "clock": ("timestamp", pa.array([0.0] * 36), "episode 0: timestamp does not run forward at row 1"),
    "episodes": ("episode_index", pa.array([0.5] * 36), "episode_index must have one whole number for every row"),
}


@pytest.mark.parametrize("mistake", COLUMNS)
def test_bad_columns(tmp_path, robot, monkeypatch, mistake):
    name, column, message = COLUMNS[mistake]
    monkeypatch.setattr(reader, "BATCH", 7)
    parquet.write_table(replaced(name, column), files(robot)[0])
    with pytest.raises(DataError, match=rf"file-000\.parquet.*{message}"):
        import_data(robot, tmp_path / "out.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["robot"]


def test_files_that_are_no_parquet(tmp_path, robot):
    for content, message in (
        (b"no", "not a readable Parquet file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "fetch it with: git lfs pull"),
        (files(robot)[0].read_bytes()[:-30], "not a readable Parquet file"),
    ):
        files(robot)[0].write_bytes(content)
        with pytest.raises(DataError, match=rf"file-000\.parquet: .*{message}"):
            import_data(robot, tmp_path / "out.npz")


INFOS = {
    "no JSON": ("{", "its meta/info.json cannot be read"),
    "a list": ("[]", "must be a JSON object"),
    "deep": ("[" * 100_000, "its meta/info.json cannot be read"),
    "old": ('{"codebase_version": "v1.6"}', "has version v1.6, but v2.0, v2.1, v3.0 are read; convert it"),
    "count": ('{"codebase_version": "v3.0", "total_frames": "60"}', "total_frames must be a number"),
}


@pytest.mark.parametrize("mistake", INFOS)
def test_bad_descriptions(tmp_path, robot, mistake):
    text, message = INFOS[mistake]
    (robot / "meta" / "info.json").write_text(text)
    with pytest.raises(DataError, match=message):
        import_data(robot, tmp_path / "out.npz")


def test_the_footer_is_read_as_pyarrow_reads_it(robot):
    (path, _), found = files(robot), parquet.ParquetFile(files(robot)[0]).metadata
    assert found.num_row_groups == 6
    groups = [found.row_group(group) for group in range(6)]
    columns = [group.column(column) for group in groups for column in range(found.num_columns)]
    assert list(chunks(path)) == [(one.path_in_schema, one.num_values, one.total_uncompressed_size) for one in columns]


def test_a_footer_on_which_pyarrow_s_metadata_end_the_process(tmp_path, robot):
    """The column `action` is declared as required, while the statistics count missing values."""
    path = files(robot)[0]
    content = path.read_bytes()
    assert content.count(b"\x35\x02\x18\x06action") == 1
    path.write_bytes(content.replace(b"\x35\x02\x18\x06action", b"\x35\x00\x18\x06action"))
    with pytest.raises(DataError, match=r"file-000\.parquet: not a readable Parquet file \(.*histogram size mismatch"):
        import_data(robot, tmp_path / "out.npz")


def test_damaged_footers(robot):
    path = files(robot)[0]
    content = path.read_bytes()
    for place in range(len(content) - 3000, len(content), 41):
        path.write_bytes(content[:place] + b"\xff" * 12 + content[place + 12 :])
        with contextlib.suppress(DataError):
            list(chunks(path))


def test_a_file_that_grows_six_thousandfold_is_refused_at_once(tmp_path):
    """Two million equal rows take a few kilobytes."""
    rows = 2_000_000
    same_list = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(2 * rows, np.float32)), 2)
    columns = {
        "observation.state": same_list,
        "action": same_list,
        "timestamp": np.zeros(rows),
        "episode_index": np.zeros(rows, int),
    }
    folder = tmp_path / "robot" / "data"
    folder.mkdir(parents=True)
    (tmp_path / "robot" / "meta").mkdir()
    (tmp_path / "robot" / "meta" / "info.json").write_text(json.dumps(lerobot_info(made(), "v3.0") | {"total_frames": rows}))
    parquet.write_table(pa.table(columns), folder / "a.parquet", compression="zstd")
    began = time.process_time()
    with pytest.raises(DataError, match=r"a\.parquet: claims \d+ bytes of numbers in a file of \d+; refused"):
        import_data(tmp_path / "robot", tmp_path / "out.npz")
    assert time.process_time() - began < 1
