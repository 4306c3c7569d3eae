"""Pictures as commands: what is drawn, what is refused, and that nothing is overwritten."""

import numpy as np
import pytest
from matplotlib.image import imread
from untrained import untrained, with_evaluations

from conftest import small_recipe, walk, write_npz
from mvl.cli import main
from mvl.plots.curves import read
from mvl.plots.fans import DIRECTIONS, counted_directions, directions, equally_spaced, normal_directions
from mvl.plots.fields import chosen_tasks
from mvl.runs.folder import RunFolder
from mvl.runs.restore import restore


def answer(capsys, *args) -> tuple[int, str, str]:
    code = main(["plot", *map(str, args)])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def colors(picture) -> int:
    image = imread(picture)
    return len(np.unique(image.reshape(-1, image.shape[2]), axis=0))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One that learns a value, one that only imitates, one whose actions are no directions."""
    folder = tmp_path_factory.mktemp("runs")
    untrained(folder / "ant", small_recipe(), task="antmaze-medium-navigate-v0", shapes=(29, 8, 29))
    untrained(folder / "bc", small_recipe("bc"))
    untrained(folder / "value", small_recipe(), seeds=2)
    untrained(folder / "other", small_recipe("gcivl"))
    return folder


class Short:
    """Environments of three steps each, without walls: an untrained policy would wander in the real ones for a thousand."""

    at_once = 512

    def __init__(self, task, workers):
        self.task, self.steps = task, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def reset(self, starts):
        self.places = np.array([[4.0 * start.goal, 4.0] for start in starts], np.float32)
        return self.places, self.places + 4

    def step(self, actions):
        self.steps += 1
        self.places = self.places + 0.2 * actions
        return self.places, np.full(len(actions), self.steps >= 3), np.zeros((len(actions), 1), bool)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ([], 2, "which picture? mvl plot field|graph|fan|curve|shape|compare"),
        (["feild"], 2, "no picture named 'feild'; did you mean field"),
        (["field"], 2, "required: RUN"),
        (["curve", "nowhere"], 1, "is not a run folder"),
        (["compare", "nowhere", "--task", "0"], 2, "must be a whole number of at least 1, not '0'"),
        (["compare", "value", "ant"], 2, "different tasks"),
        (["compare", "value", "bc"], 2, "learns no value to draw"),
        (["compare", "value", "--task", "6"], 2, "task 6 does not exist; choose one of 1 to 5"),
        (["compare", "value", "-o", "grid.pdf"], 2, "ends in .png or .svg"),
        (["compare", "value", "--colums", "3"], 2, "no option named '--colums'"),
        (["fan", "ant"], 2, "not directions in a plane"),
        (["fan", "value", "--temperature", "0"], 2, "must be a number above 0"),
        (["curve", "value"], 2, "has no evaluated success to draw"),
    ],
)
def test_wrong_commands(capsys, runs, monkeypatch, args, code, message):
    monkeypatch.chdir(runs)
    found, _, err = answer(capsys, *args)
    assert found == code
    assert message in err
    assert err.strip().count("\n") == 0
    assert not list(runs.rglob("*.png"))


def test_help(capsys):
    code, out, _ = answer(capsys, "--help")
    assert code == 0
    assert all(word in out for word in ("field", "fan", "curve", "compare"))
    with pytest.raises(SystemExit, match="0"):
        main(["plot", "fan", "--help"])
    assert "--waypoints" in capsys.readouterr().out


def test_compare_draws_a_grid_and_keeps_files(capsys, runs, tmp_path):
    picture = tmp_path / "grid.png"
    args = ["compare", runs / "value", runs / "other", runs / "value", "-o", picture]
    code, out, _ = answer(capsys, *args)
    assert code == 0
    assert out.strip() == str(picture)
    assert colors(picture) > 500
    before = picture.read_bytes()
    code, _, err = answer(capsys, *args)
    assert code == 1
    assert f"{picture} exists already" in err
    code, _, _ = answer(capsys, *args, "--overwrite")
    assert code == 0
    assert picture.read_bytes() == before  # the same runs give the same picture
    vectors = tmp_path / "grid.svg"
    assert answer(capsys, "compare", runs / "other", "-o", vectors)[0] == 0
    assert "<svg" in vectors.read_text()


def test_curves(capsys, runs, tmp_path):
    several = with_evaluations(runs / "value", {10: [[0.0, 0.2], [0.2, 0.4]], 20: [[0.5, 0.5], [0.7, 0.7]]})
    one = with_evaluations(runs / "other", {10: [[0.1]]})
    curve = read("label", several, RunFolder.open(several)[0])
    assert curve.steps == [10, 20]
    assert [point.mean for point in curve.means] == pytest.approx([0.2, 0.6])
    assert curve.means[0].low == 0  # 0.2 - 12.7 * 0.1, cut at none
    assert curve.seeds == 2
    picture = tmp_path / "curve.svg"
    assert answer(capsys, "curve", several, one, "-o", picture)[0] == 0
    assert picture.stat().st_size > 5000
    (several / "evaluations.jsonl").unlink()
    (one / "evaluations.jsonl").unlink()


def test_fans_and_fields_play_episodes(capsys, runs, tmp_path, monkeypatch):
    monkeypatch.setattr("mvl.runs.evaluation.Environments", Short)
    assert answer(capsys, "fan", runs / "value", runs / "bc", "-o", tmp_path / "fan.png", "--waypoints", "3")[0] == 0
    assert colors(tmp_path / "fan.png") > 500
    assert answer(capsys, "field", runs / "bc", "-o", tmp_path / "field.png", "--episodes", "1", "--task", "2")[0] == 0
    wide, tall = (imread(tmp_path / f"{name}.png").shape[1] for name in ("fan", "field"))
    assert wide > tall  # two panels, and one


def test_a_field_without_a_maze_follows_the_data(capsys, tmp_path):
    write_npz(tmp_path / "walk.npz", walk())
    write_npz(tmp_path / "walk-val.npz", walk(seed=1))
    import mvl

    short = {"steps": 10, "log_every": 10, "eval_every": 10, "save_every": 10, "steps_per_dispatch": 10}
    run = mvl.train(tmp_path / "walk.npz", small_recipe(), run=tmp_path / "run", **short)
    code, _, err = answer(capsys, "field", run, "--task", "1")
    assert code == 2
    assert "leave --task out" in err
    assert answer(capsys, "field", run)[0] == 0
    assert colors(run / "field.png") > 100
    code, _, err = answer(capsys, "compare", run)
    assert code == 2
    assert f"mvl plot field {run}" in err
    code, _, err = answer(capsys, "curve", run)
    assert code == 2
    assert "has no evaluated success" in err


def test_waypoints_lie_equally_far_apart():
    path = np.array([[0, 0], [0, 0], [1, 0], [2, 0], [2, 2], [2, 4]], float)
    assert np.array_equal(equally_spaced(path, 3), [[0, 0], [2, 0], [2, 2]])
    still = np.zeros((5, 2))
    assert len(equally_spaced(still, 4)) == 1


def test_shares_of_directions_by_hand():
    """Right, just above right, up, and up again: the first angle has two of four."""
    shares = counted_directions(np.array([[[1, 0], [1, 0.01], [0, 1], [0, 0.5]]]))
    assert shares.shape == (1, DIRECTIONS)
    assert shares[0, 0] == 0.5
    assert shares[0, DIRECTIONS // 4] == 0.5
    assert counted_directions(np.array([[[1, -1e-12]]]))[0, -1] == 1


def test_a_normal_policy_points_where_its_mean_does():
    """Against draws, up to the density being taken at the middle of each angle; without a mean all directions are alike."""
    means = np.array([[0.0, 0.0], [0.8, -0.3]])
    drawn = means[:, None] + 0.5 * np.random.default_rng(0).normal(size=(2, 300_000, 2))
    assert normal_directions(means, 0.5) == pytest.approx(counted_directions(drawn), abs=3e-3)
    assert normal_directions(means, 0.5)[0] == pytest.approx(1 / DIRECTIONS)


@pytest.mark.parametrize("name", ["hiql", "fbc"])
def test_every_policy_has_a_fan(tmp_path, name):
    _, learner, state = restore(untrained(tmp_path / "run", small_recipe(name)))
    import jax

    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    shares = directions(learner, params, np.zeros((2, 2), np.float32), np.ones(2, np.float32), 1.0)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert (shares > 0).sum(axis=1).min() > DIRECTIONS // 2


def test_tasks_count_from_one():
    assert chosen_tasks(None, 3) == [0, 1, 2]
    assert chosen_tasks(3, 5) == [2]
