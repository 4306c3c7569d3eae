"""Episodes as mp4 files, written by the worker that plays them. Needs imageio-ffmpeg, and something MuJoCo can render with."""

import atexit
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mvl.errors import MvlError

if TYPE_CHECKING:
    from mvl.evaluation.environments import Slot, Start
    from mvl.evaluation.kitchen import Kitchen

AT_ONCE = 8
"""Episodes filmed at the same time: each has a renderer and an encoder of its own."""


def check_installed() -> None:
    """Say what is missing before anything is started."""
    if find_spec("imageio_ffmpeg") is None:
        raise MvlError("videos need imageio-ffmpeg; install it with: pip install 'mollified-value-learning[video]'")


@dataclass(frozen=True)
class Film:
    """How episodes are filmed, and where to."""

    folder: str
    backend: str
    """What MuJoCo renders with: egl, osmesa or glfw."""
    size: int
    """Width and height in pixels; even, as H.264 wants it."""
    fps: int = 30
    frames: int = 500
    """Of a longer episode every second, third, ... step is shown, so that there are no more than this many."""

    def file(self, start: "Start") -> Path:
        return Path(self.folder) / f"{start.task}-{start.seed}.mp4"


class Filmed:
    """An environment whose episodes are filmed."""

    def __init__(self, slot: "Slot | Kitchen", film: Film) -> None:
        self.slot, self.film = slot, film
        self.every = -(-slot.env.spec.max_episode_steps // film.frames)
        self.renderer: Any = None
        self.model: Any = None

    @property
    def done(self) -> bool:
        return self.slot.done

    @property
    def success(self) -> list[bool]:
        return self.slot.success

    def reset(self, start: "Start") -> tuple[np.ndarray, np.ndarray]:
        import imageio_ffmpeg

        answer = self.slot.reset(start)
        # The encoder of a worker that died may still be writing: it keeps the old file, this one gets a new file.
        self.film.file(start).unlink(missing_ok=True)
        size, browsers = self.film.size, ["-movflags", "+faststart", "-preset", "veryfast"]
        self.writer = imageio_ffmpeg.write_frames(
            self.film.file(start), (size, size), fps=self.film.fps, codec="libx264", macro_block_size=2,
            ffmpeg_log_level="error", output_params=browsers,
        )  # fmt: skip
        self.writer.send(None)
        self.steps = 0
        self._shoot()
        return answer

    def step(self, action: np.ndarray) -> np.ndarray:
        """The next observation, shown if its turn has come; after the last, which is held for a moment, nothing more."""
        if self.done:
            return self.slot.observation
        observation = self.slot.step(action)
        self.steps += 1
        if self.done:
            self._shoot(times=self.film.fps // 2)
            self.writer.close()
        elif self.steps % self.every == 0:
            self._shoot()
        return observation

    def _shoot(self, times: int = 1) -> None:
        env = self.slot.env.unwrapped
        if env.model is not self.model:  # some environments compile a new one at a reset
            self._aim(env.model)
        self.renderer.update_scene(env.data, camera=camera(env))
        frame = np.ascontiguousarray(self.renderer.render())
        for _ in range(times):
            self.writer.send(frame)

    def _aim(self, model: Any) -> None:
        import mujoco

        if self.renderer is not None:
            self.renderer.close()
        self.model = model
        model.vis.global_.offwidth = model.vis.global_.offheight = self.film.size
        model.vis.headlight.ambient[:] = 0.3
        self.renderer = mujoco.Renderer(model, self.film.size, self.film.size)
        # Without a graphics card shadows take most of the time; light from the camera makes up for what goes with them.
        self.renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        atexit.register(self.renderer.close)  # later than that, its libraries are gone


def camera(env: Any) -> Any:
    """Mazes from above, arms from the front, a kitchen as its own pictures show it."""
    if hasattr(env, "custom_camera"):
        return env.custom_camera
    if not hasattr(env, "robot_env"):
        return "front"
    import mujoco

    view, settings = mujoco.MjvCamera(), env.robot_env.mujoco_renderer.default_cam_config
    for name, value in settings.items():
        setattr(view, name, value)
    return view
