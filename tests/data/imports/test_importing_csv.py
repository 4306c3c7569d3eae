"""Importing CSV: separators, heads, labels of episodes, and refusals that name the file, the line and the column."""

import numpy as np
import pytest
from layouts import made, same, write_csv, write_csv_file, write_csv_folder

from mvl.cli import main
from mvl.data.imports.importing import import_data
from mvl.data.signals import Signal
from mvl.data.sources import table
from mvl.data.sources.episodes import ColumnNames
from mvl.data.sources.npz import load
from mvl.errors import DataError

TABLE = ColumnNames(observations=("q0", "q1"), actions=("u*",), time="t")


def test_a_folder_with_a_file_per_episode(tmp_path):
    write_csv_folder(tmp_path / "demos", made(12))  # 10.csv comes after 9.csv
    done = import_data(tmp_path / "demos", tmp_path / "out.npz", columns=TABLE, held_out=1 / 12)
    assert (done.episodes, done.rescaled) == (12, False)
    assert same(tmp_path / "out.npz", made(12))


@pytest.mark.parametrize(("separator", "name"), [(";", "a.csv"), ("\t", "a.tsv"), (",", "a.csv")])
def test_separators(tmp_path, separator, name):
    write_csv_file(tmp_path / name, made(), separator=separator)
    import_data(tmp_path / name, tmp_path / "out.npz", columns=TABLE._replace(episode="episode"), held_out=0.2)
    assert same(tmp_path / "out.npz", made())


def test_decimal_commas_between_semicolons(tmp_path):
    write_csv_file(tmp_path / "a.csv", made(), separator=";")
    file = tmp_path / "a.csv"
    file.write_text(file.read_text().replace(".", ","))
    import_data(file, tmp_path / "out.npz", columns=TABLE._replace(episode="episode"), held_out=0.2)
    assert same(tmp_path / "out.npz", made())


def test_a_column_marks_the_ends_of_episodes(tmp_path):
    pairs = made()
    ends = [
        str(row == len(states) - 1) for states, _ in pairs for row in range(len(states))
    ]  # True and False, as pandas writes them
    states, actions = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    write_csv(tmp_path / "a.csv", states, actions, extra=[("done", ends)])
    import_data(tmp_path / "a.csv", tmp_path / "out.npz", columns=TABLE._replace(ends="done"), held_out=0.2)
    assert same(tmp_path / "out.npz", pairs)


def test_numbers_of_episodes_are_compared_exactly(tmp_path):
    """Numbers that float32 does not tell apart."""
    labels = ["16777216"] * 12 + ["16777217"] * 12
    states, actions = (np.concatenate(parts) for parts in zip(*made(2), strict=True))
    write_csv(tmp_path / "a.csv", states, actions, extra=[("number", labels)])
    done = import_data(tmp_path / "a.csv", tmp_path / "out.npz", columns=TABLE._replace(episode="number"))
    assert done.episodes == 2


def test_columns_of_text_are_no_hindrance_unless_they_are_used(tmp_path):
    for index, pair in enumerate(made(3)):
        write_csv(tmp_path / "demos" / f"{index}.csv", *pair, extra=[("operator", ["Ada, L."] * 12), ("", [""] * 12)])
    import_data(tmp_path / "demos", tmp_path / "out.npz", columns=TABLE)
    with pytest.raises(DataError, match=r"0\.csv: line 2: operator is 'Ada, L\.', which is no number"):
        import_data(tmp_path / "demos", tmp_path / "b.npz", columns=TABLE._replace(goals=("operator",)))


def test_heads_with_units(tmp_path):
    heads = ("t [ms]", "joint 1 (rad)", "x [m]", "x [ft]", "u")
    text = '"' + '";"'.join(heads) + '"\n' + "".join(f"{50 * row};{row};{row};{row};0,5\n" for row in range(3))
    for name in ("a", "b"):
        (tmp_path / name).with_suffix(".csv").write_text(text)
    names = ColumnNames(observations=("joint 1", "x [m]"), actions=("u",), time="t")
    signals = table.source_signals(tmp_path, names)
    assert signals.observations == (Signal("joint 1", ("joint 1",), "rad"), Signal("x [m]", ("x [m]",)))
    assert signals.actions == (Signal("u", ("u",)),)
    import_data(tmp_path, tmp_path / "out" / "a.npz", columns=names, kind="csv")
    found = load(tmp_path / "out" / "a.npz")
    assert found.observations.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert found.signals.hz == 20


def test_columns_of_one_pattern_are_one_signal(tmp_path):
    write_csv(tmp_path / "0.csv", *made(1)[0], heads=("t", "q_1 [rad]", "q_2 [rad]", "u_1 [V]", "u_2 [A]"))
    signals = table.source_signals(tmp_path, ColumnNames(("q_*",), ("u_*",), time="t"))
    assert signals.observations == (Signal("q", ("q_1", "q_2"), "rad"),)
    assert signals.actions == (Signal("u_1", ("u_1",), "V"), Signal("u_2", ("u_2",), "A"))


def test_columns_have_to_be_named(tmp_path):
    write_csv_folder(tmp_path / "demos", made(2))
    with pytest.raises(DataError, match=r"0.csv: name its columns with --observations and --actions; it has q0, q1, t, u0, u1"):
        import_data(tmp_path / "demos", tmp_path / "out.npz")


MISTAKES = {
    "ragged": ("t,q0,q1,u0,u1\n0,1,2,3\n", "line 2 has 4 values for 5 columns"),
    "short": ("t,q0,q1,u0,u1\n0,1,2,0,0\n", "has 1 row; an episode needs at least two"),
    "no rows": ("t,q0,q1,u0,u1\n", "has 0 rows; an episode needs at least two"),
    "empty": ("", "the first line must name every column"),
    "twice": ("t,q0,q0,u0,u1\n0,1,2,0,0\n", "the first line must name every column, each once"),
    "nan": ("t,q0,q1,u0,u1\n0,1,2,0,0\n1,nan,2,0,0\n", "q0 is nan at row 1, dimension 0, which is no number"),
    "large": (
        "t,q0,q1,u0,u1\n0,1,2,0,0\n1,2,1e39,0,0\n",
        r"q1 is 1e\+39 at row 1, dimension 0, which is more than float32 holds",
    ),
    "clock": ("t,q0,q1,u0,u1\n0,1,2,0,0\n0,1,2,0,0\n", r"t does not run forward at row 1 \(0, then 0\)"),
    "text": ("t,q0,q1,u0,u1\n\n0,1,2,0,0\n1,x,2,0,0\n", "line 4: q0 is 'x', which is no number"),
    "cell": ("t,q0,q1,u0,u1\n0,1,2,0,0\n1,1,,0,0\n", "line 3: q1 is empty; fill the cell"),
    "quote": ('t,q0,q1,u0,u1\n0,1,2,0,"0\n1,1,2,0,0\n', "not a readable CSV file in UTF-8"),
    "bytes": (b"t,q0,q1,u0,u1\n\xff\n", "not a readable CSV file in UTF-8"),
    "missing": ("t,q0,u0,u1\n0,1,0,0\n1,1,0,0\n", "has no column q1; it has q0, t, u0, u1"),
    "width": ("t,q0,q1,u0\n0,1,2,0\n1,1,2,0\n", "actions has 1 dimensions, but 2 in .*0.csv"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_bad_tables_are_refused_by_file_line_and_column(tmp_path, mistake):
    text, message = MISTAKES[mistake]
    write_csv_folder(tmp_path / "demos", made(3))
    (tmp_path / "demos" / "bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=rf"bad\.csv: {message}"):
        import_data(tmp_path / "demos", tmp_path / "out.npz", columns=TABLE)
    assert [path.name for path in tmp_path.iterdir()] == ["demos"]


def test_a_name_that_stands_for_several_columns_is_no_clock(tmp_path):
    write_csv_folder(tmp_path / "demos", made(2))
    with pytest.raises(DataError, match=r"0\.csv: q\* matches 2 columns \(q0, q1\); name one"):
        import_data(tmp_path / "demos", tmp_path / "out.npz", columns=TABLE._replace(time="q*"))


def test_the_command(tmp_path, capsys):
    write_csv_folder(tmp_path / "demos", made(10))
    source, to = str(tmp_path / "demos"), str(tmp_path / "out.npz")
    named = ["--observations", "q0", "q1", "--actions", "u*", "--time", "t"]
    assert main(["data", "import", source, "--to", to, *named]) == 0
    shown = capsys.readouterr()
    assert "10 episodes" in shown.out
    assert "looks wrong:" in shown.out
    assert shown.err == ""  # progress is shown after two seconds only
    assert main(["data", "import", source, "--to", to]) == 1
    assert "exists already" in capsys.readouterr().err
    assert main(["data", "import", source, "--to", str(tmp_path / "out.txt")]) == 2
    assert main(["data", "import", source, "--to", to, "--join", "held"]) == 2
    assert "--join is for streams" in capsys.readouterr().err
