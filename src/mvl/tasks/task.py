"""A task: data to learn from, and an environment whose goals are to be reached. Everything else is optional."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mvl.data.actions import ActionUnits
from mvl.data.inputs import Inputs
from mvl.data.sources.npz import GoalColumns, folders
from mvl.errors import DataError, UsageError
from mvl.registry import import_path, imported
from mvl.tasks.simulator import LIMIT, GymSimulator, Simulator

if TYPE_CHECKING:
    from mvl.data.dataset import Dataset
    from mvl.data.episodes import Generator, Size
    from mvl.data.raw import Recording
    from mvl.data.signals import Signals
    from mvl.tasks.maze import Maze


class Settings(NamedTuple):
    """Hyperparameters published for a task."""

    parts: dict[str, dict[str, Any]] = {}
    """Settings of single parts, by the part's name."""
    learning: dict[str, Any] = {}
    """Changes to `Learning`."""
    schedule: dict[str, Any] = {}
    """Changes to the schedule."""


class ViewerCamera(NamedTuple):
    """The viewer's first camera position and speed; lengths are relative to the extent of the floor."""

    direction: tuple[float, float, float]
    """Direction from the center of the scene to the camera."""
    distance: float
    """Distance of the camera, in lengths of the floor."""
    height: float
    """Height of the point looked at, in lengths of the floor."""
    side_axis: int
    """Axis along which a second run is placed beside the first."""
    speed: str
    """Initial playback speed."""


MAZE_VIEW = ViewerCamera((0, -0.62, 0.78), 1.25, 0.0, 0, "x 8")
ARM_VIEW = ViewerCamera((0.88, 0.14, 0.45), 1.65, 0.24, 1, "x 1")


@dataclass(frozen=True, eq=False)
class Task:
    """Goals to be reached in an environment, and the data to learn that from.

    The first four attributes make a user-defined task. Families set the others.

    Examples:
        >>> task = mvl.Task(env=make_env, data="demos.npz")
        >>> run = mvl.train(task, "gcivl-mvl")
    """

    env: Callable[[], Any] | str | None = None
    """Makes a Gymnasium environment: a function, or its import path `module:function`. None: no evaluation."""
    data: Path | str | Dataset | None = None
    """The training data: an .npz file with a `-val.npz` file beside it, or a Dataset."""
    goal: Callable[..., np.ndarray] | str | None = None
    """Goals of data rows, (rows, g), computed from the `goal_columns`; by default a goal is a whole observation."""
    success: Callable[[np.ndarray, np.ndarray], bool] | str | None = None
    """Whether an observation has reached a goal; by default the environment says so in its `info`."""
    name: str = ""
    """Name of the task; for a user-defined one by default the data file."""
    dataset: str = ""
    """Name of the dataset in the data folders, for tasks with published or generated data."""
    goals: int = 1
    """Number of evaluation goals; with more than one, a reset gets `options={"task_id": number}`, counted from 1."""
    subtasks: tuple[str, ...] = ()
    """Names of the parts that every episode is scored by; empty: it is scored by its goal."""
    world: str = ""
    """Name of the environment; tasks that share it can be viewed side by side."""
    images: bool = False
    """Whether observations are images."""
    goal_columns: tuple[str, ...] = ("observations",)
    """Columns of the data file that `goal` is computed from."""
    action_units: ActionUnits = ActionUnits()
    """How the policy's actions become those of the environment."""
    inputs: Inputs = Inputs()
    """How the environment's observations and goals become the policy's."""
    limit: Callable[[], int] | None = None
    """Steps after which an episode ends; by default the limit in the environment's spec."""
    episode_seconds: float | None = None
    """Seconds of an episode of full length in one environment, roughly: estimates use it until they have measured it."""
    simulator: Callable[[Task], Simulator] = GymSimulator
    """Plays episodes of this task."""
    shared_simulators: Callable[[Task], Callable[[], Simulator]] | None = None
    """Makes simulators of one process that share a physics model: cheaper, but their states cannot be rendered."""
    at_once: int = 512
    """Upper limit of simulators at the same time, because of their memory."""
    check: Callable[[], None] | None = None
    """Raises MvlError if a package that the environment needs is missing."""
    generator: Callable[[], Generator] | None = None
    """Makes a generator of episodes of data."""
    size: Size | None = None
    """Size of the published dataset, and of a generated one."""
    signals: Signals | None = None
    """Names, units and rate of generated data."""
    recording: Callable[[dict[str, np.ndarray]], Recording] | None = None
    """Turns the columns of a generated episode into what a lab would have recorded of it."""
    fetch: Callable[..., list[Path]] | None = None
    """Fetches both files of the dataset: (name, folder or None, addresses to look at first or None, report) -> paths."""
    origin: str = ""
    """Where `fetch` gets the dataset from, for listings."""
    settings: Callable[[str], Settings] | None = None
    """Published hyperparameters, for the name of a value."""
    maze: Callable[[], Maze] | None = None
    """The map of the maze, for pictures and for measuring distances."""
    metric: bool = False
    """Whether a value should follow the length of the shortest path through the maze."""
    view: ViewerCamera = ARM_VIEW
    """First camera position of the viewer."""
    camera: Callable[[Any], Any] | None = None
    """The camera that films the environment; by default MuJoCo's free camera."""

    def __str__(self) -> str:
        return self.name or (str(self.data) if isinstance(self.data, str | Path) else "arrays")

    @property
    def label(self) -> str:
        """A short name, without the folder of a data file."""
        return Path(str(self)).name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def identity(self) -> tuple[str, ...]:
        """What distinguishes tasks: the name, and for a user-defined one its functions' import paths and its number of goals."""
        if not self.is_own:
            return (str(self),)
        return str(self), *(import_path(part) if part else "" for part in (self.env, self.goal, self.success)), str(self.goals)

    @property
    def is_own(self) -> bool:
        """Whether the task is user-defined, so that no family lists it."""
        return not self.dataset

    @property
    def simulated(self) -> bool:
        """Whether there is an environment to evaluate in."""
        return self.env is not None

    @property
    def env_function(self) -> Callable[[], Any]:
        """The function that makes an environment."""
        if self.env is None:
            raise UsageError(f"{self} has no environment to play in; name one with --env module:function.")
        return _function(self.env)

    @property
    def success_function(self) -> Callable[[np.ndarray, np.ndarray], bool] | None:
        return _function(self.success) if self.success else None

    @property
    def goal_columns_of_file(self) -> GoalColumns | None:
        """How goals are computed from columns of the data file; None: the file has goals, or they are whole observations."""
        return GoalColumns(self.goal_columns, _function(self.goal)) if self.goal else None

    def make_env(self) -> Any:
        """A new environment."""
        if self.check:
            self.check()
        return self.env_function()

    def make_simulator(self) -> Simulator:
        """A new simulator of this task."""
        return self.simulator(self)

    def episode_limit(self, env: Any = None) -> int:
        """Steps after which an episode ends."""
        if self.limit:
            return self.limit()
        spec = getattr(self.make_env() if env is None else env, "spec", None)
        return getattr(spec, "max_episode_steps", None) or LIMIT

    def find_data(self, folder: Path | None = None) -> Path:
        """The training file; searched for in the data folders if the task has a named dataset."""
        if not self.dataset:
            assert isinstance(self.data, str | Path), "arrays are in no file"
            return Path(self.data)
        searched = folders(folder)
        for place in searched:
            if (place / f"{self.dataset}.npz").exists():
                return place / f"{self.dataset}.npz"
        where = f" --data {folder}" if folder else ""
        ways = [f"make it with: mvl data generate {self.dataset}{where}"] if self.generator else []
        ways += [f"fetch it with: mvl data pull {self.dataset}{where}"] if self.fetch else []
        raise DataError(f"{self.dataset}.npz is not in {' and '.join(map(str, searched))}; {', or '.join(ways)}")


def _function(given: Callable[..., Any] | str) -> Callable[..., Any]:
    """The given function, or the one at an import path."""
    return imported(given) if isinstance(given, str) else given
