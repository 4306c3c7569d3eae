"""The viewer in a real browser: it draws, it moves, and it asks nothing of anyone else."""

import io
import json
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from browser import browser_page as browser_page
from matplotlib.image import imread
from untrained import untrained_by_name

from mvl.tasks.simulator import Start

pytest.importorskip("viser")
pytest.importorskip("trimesh")

from mvl.deploy.viewer import recording
from mvl.deploy.viewer.page import Page, address, serving

pytestmark = pytest.mark.filterwarnings("ignore::glfw.GLFWError", "ignore:.*precision lowered.*")
MAZE, CUBE = "pointmaze-medium-navigate-v0", "cube-single-play-v0"
PATIENCE = 60
"""Seconds; a browser without a graphics card takes its time on a busy machine."""


def until(true, watched):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"waited {PATIENCE} s in vain; the page says {watched.errors}"
        watched.page.wait_for_timeout(100)


def picture(watched):
    """The scene as drawn, without the controls."""
    return imread(io.BytesIO(watched.page.screenshot(timeout=1000 * PATIENCE)))[:, :430, :3]


@contextmanager
def shown(recordings):
    """A page of them that goes on by itself."""
    with serving("127.0.0.1", 0) as server:
        page, over = Page(server, recordings), threading.Event()

        def tick():
            while not over.wait(0.03):
                page.tick()

        thread = threading.Thread(target=tick)
        thread.start()
        try:
            yield page
        finally:
            over.set()
            thread.join()


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Records an untrained policy, one episode of tasks 1 and 2."""
    monkeypatch.setattr(recording, "starts", lambda *_: [Start(1, 0), Start(2, 0)])

    def make(task, recipe):
        return recording.record(untrained_by_name(tmp_path / f"{task}-{recipe}", task, recipe), 1, 0)

    return make


def opened(browser_page, page):
    """The page in a browser, once its scene is drawn."""
    watched = browser_page(760, 420)
    watched.page.goto(address(page.server))
    watched.page.get_by_role("button", name="Play").wait_for(timeout=1000 * PATIENCE)
    until(lambda: len(np.unique(picture(watched).reshape(-1, 3), axis=0)) > 200, watched)
    return watched


def slide(watched, page, key):
    """Move the step slider by the keyboard; how things were and are."""
    before = picture(watched), {body: (*frame.position, *frame.wxyz) for body, frame in page.stages[0].bodies.items()}
    at = page.slider.value
    watched.page.get_by_role("slider").last.press(key)
    until(lambda: page.slider.value != at and page.stages[0].step == page.slider.value, watched)
    until(lambda: np.abs(picture(watched) - before[0]).max() > 0.2, watched)
    return before[1], {body: (*frame.position, *frame.wxyz) for body, frame in page.stages[0].bodies.items()}


def test_a_maze_with_two_runs(browser_page, recorded):
    with shown([recorded(MAZE, "gcivl"), recorded(MAZE, "gcivl-mvl")]) as page:
        watched = opened(browser_page, page)
        before, after = slide(watched, page, "End")
        assert page.slider.value == 1000
        assert np.allclose(after[1][:3], page.stages[0].episode.poses[1000, 1, :3])
        assert not np.allclose(before[1], after[1])
        assert [way.color for stage in page.stages for way in stage.ways] == [
            (123, 50, 148),
            (0, 158, 115),
        ]  # purple the base, teal the other
        colors = [stage.ways[0].balls.batched_colors for stage in page.stages]
        assert all((every == every[0]).all() for every in colors)
        bright = picture(watched)
        watched.page.get_by_role("checkbox").press("Space")
        until(lambda: page.shown == (0, 0, False, False), watched)
        until(lambda: np.abs(picture(watched) - bright).mean() > 0.02, watched)  # the value is no longer on the floor
        watched.page.get_by_role("button", name="Play").click()
        until(lambda: 0 < page.slider.value < 1000, watched)  # from the start again
        watched.page.get_by_role("button", name="Pause").click()
        until(lambda: not page.playing, watched)
        assert watched.errors == []
        assert watched.external_requests() == []


def test_the_slider_moves_the_arm(browser_page, recorded):
    with shown([recorded(CUBE, "gcivl")]) as page:
        watched = opened(browser_page, page)
        before, after = slide(watched, page, "End")
        arm = page.stages[0].recording.model.body("ur5e/forearm_link").id
        assert not np.allclose(before[arm], after[arm], atol=0.01)
        assert np.allclose(after[arm], page.stages[0].episode.poses[-1, arm])
        watched.page.get_by_role("combobox", name="task").click()
        watched.page.get_by_role("option").nth(1).click()
        until(lambda: page.stages[0].episode.task == 2, watched)
        watched.page.wait_for_timeout(500)  # for an echo, should there be one
        assert page.slider.value == page.stages[0].step == 0
        assert watched.errors == []
        assert watched.external_requests() == []


def test_an_arm_shows_the_waypoints_of_both_runs(recorded):
    """As in the paper's figure: teal and purple on one arm, each at its own step; the box takes them apart."""
    with serving("127.0.0.1", 0) as server:
        page = Page(server, [recorded(CUBE, "gcivl"), recorded(CUBE, "hiql-mvl")])
        purple, teal = (123, 50, 148), (0, 158, 115)
        assert [[way.color for way in stage.ways] for stage in page.stages] == [[purple, teal], [teal, purple]]
        first, second = page.stages
        assert np.allclose(first.ways[1].balls.batched_positions, second.ways[0].balls.batched_positions)
        assert not np.allclose(first.ways[0].balls.batched_positions, first.ways[1].balls.batched_positions)
        page.slider.value = 100
        page.tick()
        for way in first.ways:
            pale = (way.balls.batched_colors != way.balls.batched_colors[0]).any(axis=1)
            assert np.array_equal(pale, way.times > 100)
        page.together.value = False
        page.tick()
        assert [len(stage.ways) for stage in page.stages] == [1, 1]


def test_a_run_cannot_run_scripts(browser_page, tmp_path, monkeypatch):
    """Neither by its folder's name nor by what is in it."""
    monkeypatch.setattr(recording, "starts", lambda *_: [Start(1, 0)])
    run = untrained_by_name(tmp_path / "<img src=x onerror=parent.sprung=1>", MAZE)
    told = json.loads((run / "run.json").read_text())
    recipe = '<iframe srcdoc="<script>parent.sprung=1</script>"></iframe> ![x](javascript:sprung=1) <script>sprung=1</script>'
    (run / "run.json").write_text(json.dumps({**told, "recipe_name": recipe}))
    with shown([recording.record(run, 1, 0)]) as page:
        watched = opened(browser_page, page)
        watched.page.get_by_text(f"{run.name}: {recipe} (purple: no mollifier)").wait_for(timeout=1000 * PATIENCE)
        assert watched.page.evaluate("window.sprung") is None
        assert len(watched.page.frames) == 1
        assert watched.errors == []
        assert watched.external_requests() == []


def test_the_command_serves_this_machine_alone_and_ends_at_ctrl_c(tmp_path):
    run = untrained_by_name(tmp_path / "run", MAZE)
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"  # tests in the background inherit deafness
        "import sys; from mvl.cli import main; from mvl.deploy.viewer import recording;"
        "recording.starts = lambda *_: [recording_start]; from mvl.tasks.simulator import Start;"
        "recording_start = Start(1, 0); sys.exit(main(['view', sys.argv[1], '--port', '0']))"
    )
    command = [sys.executable, "-c", code, str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as viewer:
        line = viewer.stdout.readline()
        viewer.send_signal(signal.SIGINT)
        try:
            out, err = viewer.communicate(timeout=PATIENCE)
        finally:
            viewer.kill()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+ \(stop with Ctrl-C\)\n", line), err
    assert out == ""
    assert "Traceback" not in err
    assert viewer.returncode == 130
