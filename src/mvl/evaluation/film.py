"""Episodes as mp4 files, written by the worker that plays them. Needs imageio-ffmpeg, and a renderer for MuJoCo."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from mvl.errors import MvlError
from mvl.evaluation.camera import Camera
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

    def simulator(self, task: Task) -> "FilmedSimulator":
        return FilmedSimulator(task, self)


class FilmedSimulator:
    """A simulator that films each of its episodes."""

    def __init__(self, task: Task, film: Film) -> None:
        self.task, self.film = task, film
        self.simulator = task.make_simulator()
        self.stride = -(-task.episode_limit(self.simulator.env) // film.frames)
        self.camera = Camera(task, film.size)

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
        """Write a picture of the current state `count` times."""
        frame = self.camera.picture(self.simulator.env)
        for _ in range(count):
            self.writer.send(frame)
