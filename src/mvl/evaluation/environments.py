"""Environments in worker processes, stepped together. Nothing here needs JAX, so workers start quickly."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mvl.data.generate.run import scratch_folder
from mvl.errors import MvlError
from mvl.evaluation.film import AT_ONCE, Film, Filmed

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


def serve(handle: int, dataset_name: str, scratch: str, film: Film | None) -> None:
    """A worker: answers resets and steps for its share of the episodes until the pipe closes."""
    pipe = Connection(handle)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    tempfile.tempdir = scratch
    slots: list[Slot | Kitchen | Filmed] = []
    try:
        made = maker(dataset_name, film)
        while True:
            request, payload = pipe.recv()
            if request == "reset":
                slots += [made() for _ in range(len(payload) - len(slots))]
                active = slots[: len(payload)]
                pipe.send([slot.reset(start) for slot, start in zip(active, payload, strict=True)])
            else:
                observations = [slot.step(action) for slot, action in zip(active, payload, strict=True)]
                pipe.send((np.array(observations), [slot.done for slot in active], [slot.success for slot in active]))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return
    except Exception:
        with contextlib.suppress(BrokenPipeError):  # Ctrl-C ends encoders too, and by now the parent may have left
            pipe.send(traceback.format_exc())


class Environments:
    """Environments of one task, shared out over processes. What happens in them does not depend on how many."""

    def __init__(self, dataset_name: str, workers: int, film: Film | None = None) -> None:
        kind = slot_class(dataset_name)
        self.tasks, self.at_once = kind.tasks, min(kind.at_once, AT_ONCE) if film else kind.at_once
        renderer = {"MUJOCO_GL": film.backend} if film else {}
        self.scratch = tempfile.mkdtemp(prefix="mvl-")  # environments leave model files behind
        self.pipes: list[Connection] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        for _ in range(workers):
            ours, theirs = Pipe()
            # A plain child process: one started by multiprocessing would run the caller's script once more.
            code = f"from {__name__} import Film, serve; serve({theirs.fileno()}, {dataset_name!r}, {self.scratch!r}, {film!r})"
            command = [sys.executable, "-W", "ignore", "-c", code]
            self.processes.append(subprocess.Popen(command, pass_fds=[theirs.fileno()], env={**os.environ, **renderer}))
            theirs.close()
            self.pipes.append(ours)

    def reset(self, starts: list[Start]) -> tuple[np.ndarray, np.ndarray]:
        """Begin these episodes: observations (episodes, d) and goals (episodes, k)."""
        self.cuts = [len(starts) * index // len(self.pipes) for index in range(len(self.pipes) + 1)]
        answers = self._ask("reset", [starts[a:b] for a, b in zip(self.cuts, self.cuts[1:], strict=False)])
        pairs = [pair for answer in answers for pair in answer]
        return np.array([pair[0] for pair in pairs], np.float32), np.array([pair[1] for pair in pairs], np.float32)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observations, whether each episode is over, and what it has reached by now, (episodes, 1 or subtasks)."""
        answers = self._ask("step", [actions[a:b] for a, b in zip(self.cuts, self.cuts[1:], strict=False)])
        observations, done, success = zip(*[answer for answer in answers if len(answer[1])], strict=True)
        return np.concatenate(observations).astype(np.float32), np.concatenate(done), np.concatenate(success)

    def _ask(self, request: str, payloads: list[Any]) -> list[Any]:
        for pipe, payload in zip(self.pipes, payloads, strict=True):
            pipe.send((request, payload))
        answers = []
        for pipe in self.pipes:
            try:
                answer = pipe.recv()
            except EOFError:
                raise MvlError("an evaluation worker ended unexpectedly; is there enough memory?") from None
            if isinstance(answer, str):
                raise MvlError(f"an evaluation worker failed:\n{answer}")
            answers.append(answer)
        return answers

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def __enter__(self) -> "Environments":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
