"""Single pictures of episodes, taken by the worker that plays them. Needs a renderer for MuJoCo."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mvl.evaluation.camera import Camera
from mvl.tasks import find_task
from mvl.tasks.simulator import Start
from mvl.tasks.task import Task


@dataclass(frozen=True)
class Stills:
    """Which steps of an episode are pictured, and the folder of the files."""

    folder: str
    backend: str
    """What MuJoCo renders with: egl, osmesa or glfw."""
    size: int
    """Width and height in pixels."""
    steps: tuple[int, ...]
    """From 0, the start of an episode."""

    def file(self, start: Start, step: int) -> Path:
        """The array (size, size, 3) of a step of the episode with this start."""
        return Path(self.folder) / f"{start.goal}-{start.seed}-{step}.npy"

    def simulator(self, task: Task) -> "PicturedSimulator":
        return PicturedSimulator(task, self)


class PicturedSimulator:
    """A simulator that pictures some steps of its episodes."""

    def __init__(self, task: Task, stills: Stills) -> None:
        self.stills, self.simulator = stills, task.make_simulator()
        self.camera = Camera(task, stills.size, shadows=True)

    @property
    def done(self) -> bool:
        return self.simulator.done

    @property
    def success(self) -> list[bool]:
        return self.simulator.success

    def reset(self, start: Start) -> tuple[np.ndarray, np.ndarray]:
        self.start, self.steps = start, 0
        first = self.simulator.reset(start)
        self._picture()
        return first

    def step(self, action: np.ndarray) -> np.ndarray:
        if not self.done:
            self.steps += 1
            self.simulator.step(action)
            self._picture()
        return self.simulator.observation

    def _picture(self) -> None:
        if self.steps in self.stills.steps:
            np.save(self.stills.file(self.start, self.steps), self.camera.picture(self.simulator.env))


class Photographer:
    """Runs in a worker process: pictures the first state of tasks, (size, size, 3), by their names."""

    def __init__(self, size: int, scratch: str) -> None:
        tempfile.tempdir = scratch  # environments leave model files behind
        self.size = size

    def __call__(self, name: str) -> np.ndarray:
        task = find_task(name)
        simulator = task.make_simulator()
        simulator.reset(Start(1, 0))
        return Camera(task, self.size, shadows=True).picture(simulator.env)
