"""Environments in worker processes, stepped together. Nothing here needs JAX, so workers start quickly."""

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mvl.data.generate.run import scratch_folder
from mvl.evaluation.film import AT_ONCE, Film, Filmed
from mvl.processes import Worker

if TYPE_CHECKING:
    from mvl.evaluation.kitchen import Kitchen


class Start(NamedTuple):
    """Which episode to play: one of the environment's tasks (from 1), and the seed of all its randomness."""

    task: int
    seed: int


class Slot:
    """One environment of OGBench; an episode in it depends on its start and the actions alone."""

    tasks = 5
    """Every OGBench environment has five fixed tasks, and an episode is about one of them."""
    at_once = 512
    """Episodes beyond this many at once are played in a later round."""

    def __init__(self, dataset_name: str) -> None:
        import ogbench

        self.env: Any = ogbench.make_env_and_datasets(dataset_name, env_only=True)

    def reset(self, start: Start) -> tuple[np.ndarray, np.ndarray]:
        self.seed, self.steps, self.done, self.success = start.seed, 0, False, [False]
        np.random.seed(self.seed)  # OGBench draws from the global generator
        self.env.action_space.seed(self.seed)
        observation, info = self.env.reset(seed=self.seed, options={"task_id": start.task})
        self.observation = observation
        return observation, info["goal"]

    def step(self, action: np.ndarray) -> np.ndarray:
        """The next observation; the last one again once the episode is over."""
        if self.done:
            return self.observation
        self.steps += 1
        np.random.seed((self.seed + self.steps) % 2**32)
        self.observation, _, terminated, truncated, info = self.env.step(action)
        self.done, self.success = bool(terminated or truncated), [bool(info["success"])]
        return self.observation


class Arm(Slot):
    """One environment with an arm in it."""

    at_once = 16
    """Each takes up to 160 MB."""

    def __init__(self, dataset_name: str) -> None:
        super().__init__(dataset_name)
        # These environments make a new action space whenever they are asked for it, and its draws, which shape the goal,
        # then follow no seed: they get one for good.
        bare = self.env.unwrapped
        bare.__class__ = type(bare.__class__.__name__, (bare.__class__,), {"action_space": bare.action_space})


@contextmanager
def quietly() -> Iterator[None]:
    """For environments in this process: no warnings of the packages, no model files left behind."""
    with scratch_folder() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, tempfile.tempdir = tempfile.tempdir, scratch
        try:
            yield
        finally:
            tempfile.tempdir = before


def slot_class(dataset_name: str) -> "type[Slot] | type[Kitchen]":
    """What plays a task; complains if that is not installed."""
    family = dataset_name.split("-")[0]
    if family == "pointmaze" and "-teleport-" not in dataset_name:  # which moves the point by itself
        from mvl.evaluation.point import Point

        return Point
    if family != "kitchen":
        return Arm if family in ("cube", "scene", "puzzle") else Slot
    from mvl.evaluation.kitchen import Kitchen, check_installed

    check_installed()
    return Kitchen


def maker(dataset_name: str, film: Film | None) -> "Callable[[], Slot | Kitchen | Filmed]":
    """What makes the slots of a worker; points that nobody films share a simulator."""
    from mvl.evaluation.point import Point

    kind = slot_class(dataset_name)
    if film:
        return lambda: Filmed(kind(dataset_name), film)
    if kind is Point:
        return partial(Point, dataset_name, Slot(dataset_name))
    return lambda: kind(dataset_name)


class Player:
    """Runs in a worker process: plays the worker's share of the episodes."""

    def __init__(self, dataset_name: str, scratch: str, film: Film | None) -> None:
        tempfile.tempdir = scratch
        self.make = maker(dataset_name, film)
        self.slots: list[Slot | Kitchen | Filmed] = []

    def __call__(self, request: "list[Start] | np.ndarray") -> Any:
        """Starts begin new episodes; actions (episodes, a) are one step of each."""
        if isinstance(request, list):
            self.slots += [self.make() for _ in range(len(request) - len(self.slots))]
            self.active = self.slots[: len(request)]
            return [slot.reset(start) for slot, start in zip(self.active, request, strict=True)]
        observations = [slot.step(action) for slot, action in zip(self.active, request, strict=True)]
        return np.array(observations), [slot.done for slot in self.active], [slot.success for slot in self.active]


class Environments:
    """Environments of one task, shared out over processes. What happens in them does not depend on how many.

    A process that dies is replaced once per round of episodes. The new one plays its episodes again from their starts with
    the same actions, and so comes to the same states.
    """

    def __init__(self, dataset_name: str, workers: int, film: Film | None = None) -> None:
        kind = slot_class(dataset_name)
        self.tasks, self.at_once = kind.tasks, min(kind.at_once, AT_ONCE) if film else kind.at_once
        renderer = {"MUJOCO_GL": film.backend} if film else {}
        self.scratch = tempfile.mkdtemp(prefix="mvl-")  # environments leave model files behind
        self.workers = [
            Worker(Player, dataset_name, self.scratch, film, log=Path(self.scratch) / f"worker{index}.log", environment=renderer)
            for index in range(workers)
        ]

    def reset(self, starts: list[Start]) -> tuple[np.ndarray, np.ndarray]:
        """Begin these episodes: observations (episodes, d) and goals (episodes, k)."""
        count = len(self.workers)
        self.cuts = [len(starts) * index // count for index in range(count + 1)]
        pairs = [pair for answer in self._ask(starts, new_round=True) for pair in answer]
        return np.array([pair[0] for pair in pairs], np.float32), np.array([pair[1] for pair in pairs], np.float32)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observations, whether each episode is over, and what it has reached by now, (episodes, 1 or subtasks)."""
        answers = self._ask(actions, new_round=False)
        observations, done, success = zip(*[answer for answer in answers if len(answer[1])], strict=True)
        return np.concatenate(observations).astype(np.float32), np.concatenate(done), np.concatenate(success)

    def _ask(self, rows: list[Start] | np.ndarray, new_round: bool) -> list[Any]:
        """Every worker's answer to its share of the rows."""
        for worker, first, last in zip(self.workers, self.cuts, self.cuts[1:], strict=False):
            worker.ask(rows[first:last], new_round)
        return [worker.answer() for worker in self.workers]

    def close(self) -> None:
        for worker in self.workers:
            worker.pipe.close()  # all of them end at the same time
        for worker in self.workers:
            worker.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def __enter__(self) -> "Environments":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
