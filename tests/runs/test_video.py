"""Films of policies: real episodes, in files that browsers play."""

import re
import subprocess

import numpy as np
import pytest
from untrained import MEDIUM, untrained

import mvl
from conftest import small_recipe
from mvl import machine as devices
from mvl.cli import main
from mvl.errors import MvlError, UsageError
from mvl.evaluation import film as filming
from mvl.processes import Worker
from mvl.runs.video import Shots, film, in_words
from mvl.tasks import find_task

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="videos need imageio-ffmpeg")


@pytest.fixture
def rendering():
    try:
        return devices.renderer()
    except MvlError as error:
        pytest.skip(str(error))


def frames(path, size: int) -> tuple[str, np.ndarray]:
    """What ffmpeg says about a file, and its frames (time, size, size, 3)."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stderr.decode(), np.frombuffer(done.stdout, np.uint8).reshape(-1, size, size, 3)


def test_a_film_shows_an_episode_of_the_evaluation(tmp_path, rendering):
    run = untrained(tmp_path / "run", small_recipe())
    told: list[tuple[int, int]] = []
    shots = Shots(tasks=[2], size=64, fps=10, frames=20)
    (clip,) = film(run, tmp_path / "films", shots, lambda done, total: told.append((done, total)))
    played = mvl.evaluate(run, episodes=1, workers=1)
    assert (clip.task, clip.episode, clip.steps) == (2, 1, played.lengths[0, 1, 0])
    assert clip.reached == [played.success[0, 1, 0]]
    assert [file.name for file in (tmp_path / "films").iterdir()] == [f"task2-episode1-{in_words(clip.reached)}.mp4"]
    about, shown = frames(clip.path, 64)
    assert re.search(r"Video: h264 .*yuv420p.* 64x64.* 10 fps", about)
    assert len(shown) == 20 + 10 // 2  # the start, every fiftieth step but the last, and that for half a second
    assert (np.abs(shown[0].astype(int) - shown[-1]) > 60).any()  # it moved
    assert (shown[-1] == shown[-3]).mean() > 0.9
    assert told[-1] == (1000, 1000)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    with pytest.raises(MvlError, match=r"task2-episode1-\w+.mp4 exists already"):
        film(run, tmp_path / "films", shots)


def test_the_film_of_a_worker_that_dies_is_filmed_again_whole(tmp_path, rendering, monkeypatch):
    run, shots = untrained(tmp_path / "run", small_recipe()), Shots(tasks=[2], size=64, fps=10, frames=20)
    started, start = [], Worker._start
    monkeypatch.setattr(Worker, "_start", lambda worker: (start(worker), started.append(worker.process)))

    def kill(done, total):
        if done == 500:
            started[-1].kill()

    (whole,), (broken,) = film(run, tmp_path / "whole", shots), film(run, tmp_path / "broken", shots, kill)
    assert len(started) == 3
    assert broken[1:] == whole[1:]
    assert np.array_equal(frames(broken.path, 64)[1], frames(whole.path, 64)[1])


@pytest.mark.parametrize(("task", "shapes"), [("cube-single-play-v0", (28, 5, 28)), ("kitchen-partial-v2", (30, 9, 30))])
def test_arms_are_filmed_too(task, shapes, tmp_path, rendering):
    if "kitchen" in task:
        from kitchen_demos import needs_kitchen

        needs_kitchen()
    run = untrained(tmp_path / "run", small_recipe("bc"), task=task, shapes=shapes)
    (clip,) = film(run, tmp_path / "films", Shots(tasks=[1], size=96, frames=6))
    _, shown = frames(clip.path, 96)
    assert shown.std() > 15  # not one flat color
    assert clip.steps == find_task(task).episode_limit()
    assert len(clip.reached) == (4 if "kitchen" in task else 1)


def test_the_renderer_is_chosen_by_what_works(monkeypatch):
    for name in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    works: set[str] = {"egl", "osmesa", "glfw"}
    monkeypatch.setattr(devices, "_renders", lambda backend: backend in works)
    monkeypatch.setattr(devices.sys, "platform", "linux")
    assert devices.renderer() == "egl"
    works.remove("egl")
    assert devices.renderer() == "osmesa"
    monkeypatch.setenv("DISPLAY", ":0")
    assert devices.renderer() == "glfw"
    monkeypatch.setenv("MUJOCO_GL", "egl")
    with pytest.raises(MvlError, match="MUJOCO_GL is 'egl', which cannot render here; unset it, or install libegl1"):
        devices.renderer()
    monkeypatch.delenv("MUJOCO_GL")
    works.clear()
    with pytest.raises(MvlError, match="nothing here can render; install libegl1 and libgl1-mesa-dri, or libosmesa6"):
        devices.renderer()


def test_what_cannot_be_filmed_is_told_in_a_sentence(tmp_path, monkeypatch, capsys):
    with pytest.raises(UsageError, match="size must be an even number of pixels from 64 to 2048, not 101"):
        Shots(size=101)
    with pytest.raises(UsageError, match="episodes must be a whole number of at least 1, not 0"):
        Shots(episodes=0)
    run = untrained(tmp_path / "run", small_recipe())
    with pytest.raises(UsageError, match="there is no task 6; choose from 1 to 5"):
        film(run, tmp_path, Shots(tasks=[6]))
    data = untrained(tmp_path / "data", small_recipe(), task="walk.npz", simulated=False)
    with pytest.raises(UsageError, match=r"walk.npz, which has no environment to film"):
        film(data, tmp_path, Shots())
    monkeypatch.setattr(filming, "find_spec", lambda name: None)
    assert main(["video", str(run)]) == 1
    assert "pip install 'mollified-value-learning[video]'" in capsys.readouterr().err
    assert not (run / "videos").exists()
    assert main(["video", str(tmp_path)]) == 1
    assert "is not a run folder" in capsys.readouterr().err


def test_words_and_limits():
    assert in_words([True]) == "reached"
    assert in_words([False]) == "missed"
    assert in_words([True, False, True, False]) == "2 of 4"
    assert find_task(MEDIUM).episode_limit() == 1000
    assert find_task("scene-play-v0").episode_limit() == 750
    assert Shots(tasks=[3, 1, 3]).chosen(5) == [1, 3]
