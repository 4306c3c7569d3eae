"""Episodes as mp4 files, written by the worker that plays them. Needs imageio-ffmpeg, and a renderer for MuJoCo."""

import atexit
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mvl.errors import MvlError
from mvl.tasks.simulator import Start
from mvl.tasks.task import Task

AT_ONCE = 8
"""Episodes filmed at the same time: each has a renderer and an encoder of its own."""


def check_installed() -> None:
    """Raise MvlError if imageio-ffmpeg is missing."""
    if find_spec("imageio_ffmpeg") is None:
        raise MvlError("videos need imageio-ffmpeg; install it with: pip install 'mollified-value-learning[video]'")


@dataclass(frozen=True)
class Film:
    """How episodes are filmed, and the folder of the files."""

    folder: str
    backend: str
    """What MuJoCo renders with: egl, osmesa or glfw."""
    size: int
    """Width and height in pixels; H.264 needs an even number."""
    fps: int = 30
    frames: int = 500
    """Upper limit of frames per film; of longer episodes only every second, third, ... step is shown."""

    def file(self, start: Start) -> Path:
        """The file of the episode with this start."""
        return Path(self.folder) / f"{start.goal}-{start.seed}.mp4"


class FilmedSimulator:
    """A simulator that films each of its episodes."""

    def __init__(self, task: Task, film: Film) -> None:
        self.task, self.film = task, film
        self.simulator = task.make_simulator()
        self.stride = -(-task.episode_limit(self.simulator.env) // film.frames)
        self.renderer: Any = None
        self.model: Any = None

    @property
    def done(self) -> bool:
        return self.simulator.done

    @property
    def success(self) -> list[bool]:
        return self.simulator.success

    def reset(self, start: Start) -> tuple[np.ndarray, np.ndarray]:
        import imageio_ffmpeg

        first = self.simulator.reset(start)
        # The encoder of a worker that died may still be writing to the old file, so a new one is made.
        self.film.file(start).unlink(missing_ok=True)
        size, browsers = self.film.size, ["-movflags", "+faststart", "-preset", "veryfast"]
        self.writer = imageio_ffmpeg.write_frames(
            self.film.file(start), (size, size), fps=self.film.fps, codec="libx264", macro_block_size=2,
            ffmpeg_log_level="error", output_params=browsers,
        )  # fmt: skip
        self.writer.send(None)
        self.steps = 0
        self._write_frames()
        return first

    def step(self, action: np.ndarray) -> np.ndarray:
        """The next observation; every `stride`-th one is filmed, and the last one is shown for half a second."""
        if self.done:
            return self.simulator.observation
        observation = self.simulator.step(action)
        self.steps += 1
        if self.done:
            self._write_frames(count=self.film.fps // 2)
            self.writer.close()
        elif self.steps % self.stride == 0:
            self._write_frames()
        return observation

    def _write_frames(self, count: int = 1) -> None:
        """Write a picture of the current state `count` times: rendered by MuJoCo, or else by the environment itself."""
        env = self.simulator.env.unwrapped
        if hasattr(env, "model"):
            if env.model is not self.model:  # some environments compile a new model at a reset
                self._make_renderer(env.model)
            self.renderer.update_scene(env.data, camera=self.task.camera(env) if self.task.camera else -1)
            frame = np.ascontiguousarray(self.renderer.render())
        else:
            frame = _resized(self.simulator.env.render(), self.film.size, self.task)
        for _ in range(count):
            self.writer.send(frame)

    def _make_renderer(self, model: Any) -> None:
        import mujoco

        if self.renderer is not None:
            self.renderer.close()
        self.model = model
        model.vis.global_.offwidth = model.vis.global_.offheight = self.film.size
        model.vis.headlight.ambient[:] = 0.3
        self.renderer = mujoco.Renderer(model, self.film.size, self.film.size)
        # Without a graphics card shadows take most of the rendering time; more light from the camera keeps forms visible.
        self.renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        atexit.register(self.renderer.close)  # the libraries that it needs are unloaded later


def _resized(frame: Any, size: int, task: Task) -> np.ndarray:
    """A picture that the environment rendered, resized to (size, size, 3) with the nearest pixels."""
    if not isinstance(frame, np.ndarray) or frame.ndim != 3:
        raise MvlError(f"{task}: its environment does not render; make it with render_mode='rgb_array' to film it.")
    rows, columns = (np.arange(size) * length // size for length in frame.shape[:2])
    return np.ascontiguousarray(frame[rows][:, columns, :3])
