"""Pictures of an environment's current state, rendered by MuJoCo or by the environment itself."""

import atexit
from typing import Any

import numpy as np

from mvl.errors import MvlError
from mvl.tasks.task import Task


class Camera:
    """Takes square pictures of environments of one task."""

    def __init__(self, task: Task, size: int, shadows: bool = False) -> None:
        """`size` is the width in pixels. Without a graphics card shadows take most of the rendering time."""
        self.task, self.size, self.shadows = task, size, shadows
        self.renderer: Any = None
        self.model: Any = None

    def picture(self, env: Any) -> np.ndarray:
        """The current state, (size, size, 3): rendered by MuJoCo, or else by the environment itself."""
        inner = env.unwrapped
        if not hasattr(inner, "model"):
            return _resized(env.render(), self.size, self.task)
        if inner.model is not self.model:  # some environments compile a new model at a reset
            self._make_renderer(inner.model)
        self.renderer.update_scene(inner.data, camera=self.task.camera(inner) if self.task.camera else -1)
        return np.ascontiguousarray(self.renderer.render())

    def _make_renderer(self, model: Any) -> None:
        import mujoco

        if self.renderer is not None:
            self.renderer.close()
        self.model = model
        model.vis.global_.offwidth = model.vis.global_.offheight = self.size
        model.vis.headlight.ambient[:] = 0.3
        self.renderer = mujoco.Renderer(model, self.size, self.size)
        # More light from the camera keeps forms visible without shadows.
        self.renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = self.shadows
        atexit.register(self.renderer.close)  # the libraries that it needs are unloaded later


def _resized(frame: Any, size: int, task: Task) -> np.ndarray:
    """A picture that the environment rendered, resized to (size, size, 3) with the nearest pixels."""
    if not isinstance(frame, np.ndarray) or frame.ndim != 3:
        raise MvlError(f"{task}: its environment does not render; make it with render_mode='rgb_array' to film it.")
    rows, columns = (np.arange(size) * length // size for length in frame.shape[:2])
    return np.ascontiguousarray(frame[rows][:, columns, :3])
