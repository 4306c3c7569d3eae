"""Stills of episodes and of environments."""

import numpy as np
import pytest
from matplotlib.image import imread
from untrained import MEDIUM, untrained

from conftest import small_recipe
from mvl import machine
from mvl.cli import main
from mvl.errors import MvlError, UsageError
from mvl.plots import strips
from mvl.plots.gallery import gallery, one_per_family
from mvl.plots.strips import strip
from mvl.runs import stills
from mvl.runs.evaluation import evaluate
from mvl.tasks import find_task, task_names

ARM = "panda-pick-place-v0"


@pytest.fixture
def rendering():
    try:
        return machine.renderer()
    except MvlError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    pytest.importorskip("gymnasium_robotics")
    path = tmp_path_factory.mktemp("arm") / "run"
    return untrained(path, small_recipe("bc"), task=ARM, shapes=(8, 8, 8))


@pytest.fixture(scope="module")
def maze(tmp_path_factory):
    return untrained(tmp_path_factory.mktemp("maze") / "run", small_recipe())


def test_an_arm_is_rendered_at_equal_times(arm, tmp_path, rendering):
    to = tmp_path / "strip.png"
    (played,) = strip([arm], to, task=2, frames=3)
    assert played.steps == [0, 150, 300]
    assert all(picture.shape == (220, 220, 3) for picture in played.pictures)
    assert all(picture.std() > 15 for picture in played.pictures)  # not one flat color
    assert (np.abs(played.pictures[0].astype(int) - played.pictures[2]) > 60).any()  # it moved
    expected = evaluate(arm, episodes=1, workers=1, record=True)
    assert np.array_equal(played.path, expected.paths[1])
    assert played.reached == [expected.success[0, 1, 0]]
    height, width, _ = imread(to).shape
    assert width == pytest.approx(660, abs=2)
    assert height > 220


def test_a_maze_is_a_map_that_needs_no_renderer(maze, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(stills, "renderer", lambda: pytest.fail("nothing is rendered"))
    drawn = []
    monkeypatch.setattr(strips.drawing, "paths", lambda ax, paths: drawn.append(len(paths[0])))
    assert main(["plot", "strip", str(maze), str(maze), "-o", str(tmp_path / "two.svg"), "--frames", "5", "--task", "3"]) == 0
    length = len(evaluate(maze, episodes=1, workers=1, record=True).paths[2]) - 1
    assert drawn == 2 * [1 + round(share * length) for share in (0, 0.25, 0.5, 0.75, 1)]
    assert (tmp_path / "two.svg").read_text().count(f"step {length}") == 2
    assert main(["plot", "strip", str(maze), "-o", str(tmp_path / "two.svg")]) == 1
    assert "exists already" in capsys.readouterr().err


def test_what_cannot_be_drawn_as_a_strip_is_told(arm, maze, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="different environments .*draw runs of one"):
        strip([arm, maze], tmp_path / "both.png")
    with pytest.raises(UsageError, match="there is no task 6; choose from 1 to 5"):
        strip([maze], tmp_path / "strip.png", task=6)
    data = untrained(tmp_path / "data", small_recipe(), task="walk.npz", simulated=False)
    with pytest.raises(UsageError, match="which has no environment to show"):
        strip([data], tmp_path / "strip.png")
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(machine, "_renders", lambda backend: False)
    with pytest.raises(MvlError, match="nothing here can render; install libegl1"):
        strip([arm], tmp_path / "strip.png")
    with pytest.raises(MvlError, match="nothing here can render; install libegl1"):
        gallery([MEDIUM], tmp_path / "gallery.png")
    assert not list(tmp_path.glob("*.png"))


def test_a_gallery_shows_what_can_be_built(tmp_path, rendering, monkeypatch, capsys):
    pytest.importorskip("mujoco_menagerie")
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    names = ["pointmaze-medium-navigate", "panda-reach-grasp-menagerie"]
    assert main(["plot", "gallery", *names, "-o", str(tmp_path / "gallery.png")]) == 0
    printed = capsys.readouterr()
    assert printed.out.strip() == str(tmp_path / "gallery.png")
    assert "panda-reach-grasp-menagerie-v0 is not shown: MuJoCo Menagerie's Panda cannot be had" in printed.err
    shown = imread(tmp_path / "gallery.png")
    assert shown.shape[1] == pytest.approx(220, abs=2)  # one still
    assert shown.std() > 0.1
    with pytest.raises(MvlError, match="none of these tasks can be built here; MuJoCo Menagerie's Panda"):
        gallery(names[1:], tmp_path / "none.png")


def test_a_gallery_has_one_task_of_every_family():
    chosen = one_per_family()
    assert len({task.name.partition("-")[0] for task in chosen}) == len(chosen)
    assert {name.partition("-")[0] for name in task_names()} == {task.name.partition("-")[0] for task in chosen}
    assert chosen[0] == next(iter(task_names().values()))
    with pytest.raises(UsageError, match="did you mean"):
        gallery(["cube-singel-play"], None)
    assert find_task("cube-single-play") in chosen
