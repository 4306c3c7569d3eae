"""Importing: units, refusals, and imports that are interrupted; each format has a file of its own."""

import os

import numpy as np
import pytest
from forking import run_script
from layouts import made, same, write_csv, write_csv_folder

from mvl.data.imports.importing import import_data
from mvl.data.sources.episodes import ColumnNames
from mvl.data.sources.npz import load
from mvl.errors import DataError, MvlError, UsageError

TABLE = ColumnNames(observations=("q0", "q1"), actions=("u*",), time="t")


def test_goals_and_units_come_along(tmp_path):
    """Goals of their own, and actions beyond [-1, 1] that the policy gives back in the user's units."""
    import mvl

    for index, (states, actions) in enumerate(made(10)):
        write_csv(tmp_path / "demos" / f"{index}.csv", states, 30 * actions + 5)
    with pytest.raises(DataError, match=r"actions must lie in \[-1, 1\], but .* reaches .*; give --rescale"):
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


KILLED = """
import sys
from pathlib import Path
from forking import check_every_kill
from mvl.data.imports.importing import import_data
from mvl.data.sources.episodes import ColumnNames

folder, fields = Path(sys.argv[1]), ColumnNames(observations=("q0", "q1"), actions=("u*",), time="t")
run = lambda to: import_data(folder / "demos", to / "out.npz", columns=fields)
check_every_kill(folder, ["out.npz", "out-val.npz"], run)
"""


def test_an_import_killed_while_its_files_are_written_goes_on(tmp_path):
    write_csv_folder(tmp_path / "demos", made())
    (tmp_path / "start").mkdir()
    run_script(KILLED, tmp_path)


def test_an_interrupted_import_does_not_let_another_replace_its_file(tmp_path, monkeypatch):
    write_csv_folder(tmp_path / "demos", made())
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
    assert same(to, made())
