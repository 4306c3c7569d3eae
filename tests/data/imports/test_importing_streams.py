"""Importing streams of different rates: joined to one clock, with the pace of every topic in the report."""

import numpy as np
import pytest
from layouts import made, same, write_streams

from mvl.cli import main
from mvl.data.imports.importing import import_data
from mvl.data.signals import Signal
from mvl.data.sources import streams
from mvl.data.sources.episodes import Clock, ColumnNames
from mvl.data.sources.npz import load
from mvl.data.sources.reading import Listener
from mvl.errors import DataError, UsageError

NAMES = ColumnNames(("joint_states/position_*",), ("cmd/velocity_*",), clock=Clock(20.0))


@pytest.mark.parametrize("join", ["held", "nearest"])
def test_topics_are_joined_to_one_clock(tmp_path, join):
    notes: list[str] = []
    write_streams(tmp_path / "rec", made(12))
    names = NAMES._replace(clock=Clock(20.0, join))
    import_data(
        tmp_path / "rec", tmp_path / "out.npz", kind="streams", columns=names, held_out=1 / 12, listener=Listener(notes.append)
    )
    assert same(tmp_path / "out.npz", made(12))
    value = "its last value is held" if join == "held" else "its nearest value is taken"
    assert notes == [
        f"cmd: 20 Hz, longest gap 0.05 s; joined at 20 Hz, {value}",
        f"joint_states: 100 Hz, longest gap 0.01 s; joined at 20 Hz, {value}",
    ]


def test_held_and_nearest_by_hand():
    clock, times = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.4, 0.5, 0.9, 0.9999, 1.0, 1.6, 5.0])
    assert streams.nearest(clock, times).tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert streams.held(clock, times).tolist() == [0, 0, 0, 0, 1, 1, 1, 2]  # 0.9999 is 1 but for rounding


def write_topic(path, times, head="time,x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + "\n" + "".join(f"{time},{time / 10}\n" for time in times))


def recorded(path, **topics):
    """Two episodes with these times for each topic."""
    for episode in ("0", "1"):
        for topic, times in topics.items():
            write_topic(path / episode / f"{topic}.csv", times)
    return path


PLAIN = ColumnNames(("a/x",), ("b/x",), clock=Clock(1.0))


def test_only_the_time_in_which_all_topics_were_recorded(tmp_path):
    recorded(tmp_path / "rec", a=[0, 1, 2, 3, 4, 5], b=[1.5, 2.5, 3.5, 4.5], unused=[3, 4])
    import_data(tmp_path / "rec", tmp_path / "out.npz", kind="streams", columns=PLAIN)
    found = load(tmp_path / "out.npz")
    assert np.allclose(found.observations[:, 0], [0.1, 0.2, 0.3, 0.4])
    assert np.allclose(found.actions[:, 0], [0.15, 0.25, 0.35, 0.45])


def test_a_gap_is_warned_about(tmp_path):
    notes: list[str] = []
    recorded(tmp_path / "rec", a=[0, 1, 2, 3, 4, 9.5, 10], b=range(11))
    write_topic(tmp_path / "rec" / "1" / "a.csv", range(11))
    import_data(tmp_path / "rec", tmp_path / "out.npz", kind="streams", columns=PLAIN, listener=Listener(notes.append))
    assert notes[0] == "a: 1 Hz, longest gap 5.5 s; joined at 1 Hz, its last value is held"
    assert notes[1] == f"! a: silent for 5.5 s (6 of its periods) in {tmp_path / 'rec' / '0'}; check that recording"
    assert notes[2].startswith("b: 1 Hz, longest gap 1 s")
    assert len(notes) == 3


def test_one_folder_with_a_topic_that_tells_episodes_apart(tmp_path):
    for topic in ("a", "b"):
        write_topic(tmp_path / "rec" / f"{topic}.csv", range(8))
    (tmp_path / "rec" / "task.csv").write_text("time,name\n0,first\n4,second\n7,second\n")
    names = PLAIN._replace(episode="task/name")
    import_data(tmp_path / "rec", tmp_path / "out.npz", kind="streams", columns=names)
    assert np.allclose(load(tmp_path / "out.npz").observations[:, 0], [0, 0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="has one episode"):
        import_data(tmp_path / "rec", tmp_path / "b.npz", kind="streams", columns=PLAIN)


def test_names_units_and_rate(tmp_path):
    write_streams(tmp_path / "rec", made(2))
    signals = streams.source_signals(tmp_path / "rec", NAMES)
    labels = ("joint_states/position_0", "joint_states/position_1")
    assert signals.observations == (Signal("joint_states/position", labels, "rad"),)
    assert signals.hz == 20


def test_units_of_time():
    """Milliseconds by the head, microseconds since 1970 by their size."""
    assert streams.seconds(np.array([0.0, 50.0]), "ms").tolist() == [0, 0.05]
    assert np.diff(streams.seconds(np.array([1.7e15, 1.7e15 + 1e6]), "")).tolist() == [1]
    assert streams.seconds(np.array([0.0, 50.0]), "").tolist() == [0, 50]


MISTAKES = {
    "no common time": ({"a": [0, 1], "b": [5, 6]}, PLAIN, "0: its topics were not recorded at the same time"),
    "backward": ({"a": [0, 2, 1], "b": [0, 1, 2]}, PLAIN, r"a\.csv: time does not run forward at row 2"),
    "no rows": ({"a": [], "b": [0, 1, 2]}, PLAIN, r"a\.csv: has no rows"),
    "wrong unit": ({"a": [0, 1e9], "b": [0, 1e9]}, PLAIN, r"would have 1e\+09 rows at 1 Hz; check --hz"),
    "infinite": ({"a": [0, "inf"], "b": [0, "inf"]}, PLAIN, "0: would have inf rows at 1 Hz"),
    "time": ({"a": [0, 1], "b": [0, 1]}, PLAIN._replace(time="stamp"), r"a\.csv: has no column stamp; name that .* of time, x"),
    "column": ({"a": [0, 1], "b": [0, 1]}, PLAIN._replace(goals=("c/x",)), "has no column c/x; it has a/time, a/x, b/time, b/x"),
    "columns": ({"a": [0, 1], "b": [0, 1]}, ColumnNames(clock=Clock(1.0)), "name its columns with --observations and --actions"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_bad_streams(tmp_path, mistake):
    topics, names, message = MISTAKES[mistake]
    for topic, times in topics.items():
        for episode in ("0", "1"):
            path = tmp_path / "rec" / episode / f"{topic}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("time,x\n" + "".join(f"{time},0\n" for time in times))
    with pytest.raises(DataError, match=message):
        import_data(tmp_path / "rec", tmp_path / "out.npz", kind="streams", columns=names)


def test_folders_and_rates_that_are_missing(tmp_path):
    recorded(tmp_path / "rec", a=[0, 1], b=[0, 1])
    with pytest.raises(UsageError, match="streams need a rate; give one with --hz"):
        import_data(tmp_path / "rec", tmp_path / "out.npz", kind="streams", columns=PLAIN._replace(clock=None))
    with pytest.raises(UsageError, match="no way to join named 'last'; did you mean nearest"):
        import_data(tmp_path / "rec", tmp_path / "out.npz", kind="streams", columns=PLAIN._replace(clock=Clock(1.0, "last")))
    with pytest.raises(UsageError, match="hz must be a number above 0"):
        import_data(tmp_path / "rec", tmp_path / "out.npz", kind="streams", columns=PLAIN._replace(clock=Clock(0.0)))
    write_topic(tmp_path / "rec" / "c.csv", [0, 1])
    with pytest.raises(DataError, match="has CSV files beside folders of them"):
        import_data(tmp_path / "rec", tmp_path / "out.npz", kind="streams", columns=PLAIN)
    write_topic(tmp_path / "twice" / "a.csv", [0, 1])
    write_topic(tmp_path / "twice" / "a.tsv", [0, 1])
    with pytest.raises(DataError, match="twice: has two files with the same name but for the ending"):
        import_data(tmp_path / "twice", tmp_path / "out.npz", kind="streams", columns=PLAIN)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="has no CSV files"):
        import_data(tmp_path / "empty", tmp_path / "out.npz", kind="streams", columns=PLAIN)
    with pytest.raises(DataError, match="streams are a folder"):
        import_data(tmp_path / "rec" / "c.csv", tmp_path / "out.npz", kind="streams", columns=PLAIN)


def test_the_command(tmp_path, capsys):
    write_streams(tmp_path / "rec", made())
    command = ["data", "import", str(tmp_path / "rec"), "--to", str(tmp_path / "out.npz"), "--kind", "streams", "--hz", "10"]
    named = ["--observations", "joint_states/position_*", "--actions", "cmd/velocity_*", "--join", "nearest"]
    assert main([*command[:5]]) == 1
    assert "rec: has folders of CSV files; if these are streams, give --kind streams and --hz" in capsys.readouterr().err
    assert main([*command, *named]) == 0
    assert "cmd: 20 Hz, longest gap 0.05 s; joined at 10 Hz, its nearest value is taken" in capsys.readouterr().out
