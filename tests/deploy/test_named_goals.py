"""Named goals in a run's folder, and `mvl goals`."""

import json
import shutil
import threading

import numpy as np
import pytest
from serving import FAR, write_far
from untrained import untrained

from conftest import small_recipe, walk, write_npz
from mvl.cli import main
from mvl.deploy.goals import add_goal, find_goal, goal_from_data, load_goals
from mvl.errors import DamagedError, MvlError, UsageError
from mvl.runs.folder import RunFolder


@pytest.fixture
def run(tmp_path, served_run):
    """A run without goals, of which only the description is needed."""
    (tmp_path / "run").mkdir()
    shutil.copy(served_run / "run.json", tmp_path / "run")
    return tmp_path / "run"


def goals_of(run):
    return load_goals(run, RunFolder.open(run)[1])


def mvl(capsys, *words, code=0):
    assert main([str(word) for word in words]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def test_goals_are_added_listed_and_removed(run, capsys):
    assert "has no goals; add one with" in mvl(capsys, "goals", "list", run)
    assert mvl(capsys, "goals", "add", run, "pick up the cup", "--values", "-1", "2.5") == "pick up the cup: -1 2.5\n"
    mvl(capsys, "goals", "add", run, "home", "--values", 0, 0)
    assert mvl(capsys, "goals", "list", run) == "pick up the cup: -1 2.5\nhome: 0 0\n"
    assert mvl(capsys, "goals", "remove", run, "home") == "removed home\n"
    assert list(goals_of(run)) == ["pick up the cup"]
    assert "no goal named 'home'" in mvl(capsys, "goals", "remove", run, "home", code=2)


def test_a_goal_is_replaced_only_if_asked(run, capsys):
    add_goal(run, "home", np.zeros(2))
    assert "replace it with --overwrite" in mvl(capsys, "goals", "add", run, "home", "--values", 1, 1, code=1)
    assert goals_of(run)["home"].tolist() == [0, 0]
    mvl(capsys, "goals", "add", run, "home", "--values", 1, 1, "--overwrite")
    assert goals_of(run)["home"].tolist() == [1, 1]


def test_a_row_of_data_is_a_goal(run, tmp_path, capsys):
    data = walk()
    file = write_npz(tmp_path / "walk.npz", data)
    mvl(capsys, "goals", "add", run, "seen", "--from-data", file, "--row", 7)
    assert goals_of(run)["seen"].tolist() == data.observations[7].tolist()
    assert "rows 0 to 125, not 126" in mvl(capsys, "goals", "add", run, "no", "--from-data", file, "--row", 126, code=2)


def test_a_row_is_a_goal_as_the_task_has_it(tmp_path):
    """With oracle goals that is not the whole observation."""
    run = untrained(tmp_path / "run", small_recipe("gcivl"), task="antmaze-medium-navigate-oraclerep-v0", shapes=(29, 8, 2))
    data = walk(dimensions=29)
    file = tmp_path / "ant.npz"
    terminals = np.isin(np.arange(len(data.observations)), data.ends)
    arrays = {"observations": data.observations, "actions": data.actions[:, :8], "qpos": data.observations + 1}
    np.savez(file, **arrays, terminals=terminals)
    assert goal_from_data(run, file, 3).tolist() == (data.observations[3, :2] + 1).tolist()


def test_a_goal_far_from_zero_keeps_its_digits(run, tmp_path, capsys):
    """The file has an origin, which is added again: goals are in the units of the source."""
    described = json.loads((run / "run.json").read_text())
    described["data"] |= {"origin": FAR.tolist(), "goal_origin": FAR.tolist()}
    (run / "run.json").write_text(json.dumps(described))
    data = walk()
    mvl(capsys, "goals", "add", run, "seen", "--from-data", write_far(tmp_path / "far.npz", data), "--row", 7)
    assert (goals_of(run)["seen"] - FAR).tolist() == pytest.approx(data.observations[7].tolist(), abs=1e-8)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a"], "give either --values, or --from-data and --row"),
        (["a", "--values", "1", "2", "--row", "1"], "give either --values"),
        (["a", "--values", "1", "2", "3"], "goal has shape (3,); it must be (2,)"),
        (["a", "--values", "1", "nan"], "not finite"),
        (["", "--values", "1", "2"], "'' cannot name a goal"),
        ([" a", "--values", "1", "2"], "no space at the ends"),
        (["a\nb", "--values", "1", "2"], "printable characters"),
    ],
)
def test_what_is_no_goal_is_refused_and_nothing_is_written(run, capsys, words, said):
    assert said in mvl(capsys, "goals", "add", run, *words, code=2)
    assert not (run / "goals.json").exists()


def test_wrong_words_are_told(capsys, tmp_path):
    assert "no goals action named 'ad'; did you mean add?" in mvl(capsys, "goals", "ad", code=2)
    assert "not a run folder" in mvl(capsys, "goals", "list", tmp_path, code=1)


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1}', '{"a": [1]}', '{"a": ["x", "y"]}'])
def test_a_damaged_file_is_told(run, text):
    (run / "goals.json").write_text(text)
    with pytest.raises(DamagedError, match="goals.json: cannot be read"):
        goals_of(run)


def test_a_link_is_not_written_through(run, tmp_path):
    (run / "goals.json").symlink_to(tmp_path / "other.json")
    with pytest.raises(MvlError, match="symbolic link"):
        add_goal(run, "a", np.zeros(2))
    assert not (tmp_path / "other.json").exists()


def test_goals_added_at_the_same_time_are_all_kept(run):
    threads = [threading.Thread(target=add_goal, args=(run, f"goal {n}", np.full(2, n))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(json.loads((run / "goals.json").read_text())) == [f"goal {n}" for n in range(4)]


def test_an_unknown_name_is_told_with_those_that_exist():
    with pytest.raises(UsageError, match="no goal named 'cornr'; did you mean corner?"):
        find_goal({"corner": np.zeros(2)}, "cornr")
    with pytest.raises(UsageError, match="no goal has a name of 999 characters"):
        find_goal({"corner": np.zeros(2)}, "x" * 999)
    with pytest.raises(UsageError, match="the run has none; add one with: mvl goals add"):
        find_goal({}, "corner")
