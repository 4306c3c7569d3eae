"""Environments in worker processes, stepped together. Nothing here needs JAX, so workers start quickly."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mvl.evaluation.film import AT_ONCE, Film, FilmedSimulator
from mvl.evaluation.stills import PicturedSimulator, Stills
from mvl.files import scratch_folder
from mvl.processes import Worker
from mvl.tasks.simulator import Simulator, Start
from mvl.tasks.task import Task

AnySimulator = Simulator | FilmedSimulator | PicturedSimulator


def simulator_maker(task: Task, film: Film | Stills | None) -> Callable[[], AnySimulator]:
    """The function that makes the simulators of one process."""
    if film:
        return lambda: film.simulator(task)
    return task.shared_simulators(task) if task.shared_simulators else task.make_simulator


class Player:
    """Runs in a worker process: plays the worker's share of the episodes."""

    def __init__(self, task: Task, scratch: str, film: Film | Stills | None) -> None:
        tempfile.tempdir = scratch
        self.make = simulator_maker(task, film)
        self.simulators: list[AnySimulator] = []

    def __call__(self, request: list[Start] | np.ndarray) -> Any:
        """A list of starts begins new episodes; an array of actions (episodes, a) makes one step of each."""
        if isinstance(request, list):
            self.simulators += [self.make() for _ in range(len(request) - len(self.simulators))]
            self.active = self.simulators[: len(request)]
            return [simulator.reset(start) for simulator, start in zip(self.active, request, strict=True)]
        observations = [simulator.step(action) for simulator, action in zip(self.active, request, strict=True)]
        return np.array(observations), [one.done for one in self.active], [one.success for one in self.active]


class InProcessWorker:
    """A worker without a process of its own, for environments that another process could not import."""

    def __init__(self, task: Task, scratch: str, film: Film | Stills | None) -> None:
        self.player = Player(task, scratch, film)

    def ask(self, request: Any, new_round: bool) -> None:
        self.request = request

    def answer(self) -> Any:
        return self.player(self.request)

    def close(self) -> None:
        tempfile.tempdir = None


class Environments:
    """Environments of one task, distributed over processes. Episodes do not depend on the number of processes.

    A process that dies is replaced once per round of episodes. The new one plays its episodes again from their starts with
    the same actions, and so reaches the same states.
    """

    def __init__(self, task: Task, workers: int, film: Film | Stills | None = None) -> None:
        self.task = task
        portable = replace(task, data=None, name=str(task), env=task.env_function, goal=None, success=task.success_function)
        self.at_once = min(task.at_once, AT_ONCE) if film else task.at_once
        renderer = {"MUJOCO_GL": film.backend} if film else {}
        self.stack = ExitStack()
        self.scratch = self.stack.enter_context(scratch_folder())  # environments leave model files behind
        self.workers: list[Worker | InProcessWorker]
        if can_be_pickled(portable):
            logs = [Path(self.scratch) / f"worker{index}.log" for index in range(workers)]
            self.workers = [Worker(Player, portable, self.scratch, film, log=log, environment=renderer) for log in logs]
        else:
            self.workers = [InProcessWorker(portable, self.scratch, film)]

    def reset(self, starts: list[Start]) -> tuple[np.ndarray, np.ndarray]:
        """Begin these episodes: observations (episodes, d) and goals (episodes, k)."""
        count = len(self.workers)
        self.bounds = [len(starts) * index // count for index in range(count + 1)]
        pairs = [pair for answer in self._ask(starts, new_round=True) for pair in answer]
        return np.array([pair[0] for pair in pairs], np.float32), np.array([pair[1] for pair in pairs], np.float32)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observations (episodes, d), whether each episode is over (episodes,), and its successes (episodes, 1 or subtasks)."""
        answers = self._ask(actions, new_round=False)
        observations, done, success = zip(*[answer for answer in answers if len(answer[1])], strict=True)
        return np.concatenate(observations).astype(np.float32), np.concatenate(done), np.concatenate(success)

    def _ask(self, rows: list[Start] | np.ndarray, new_round: bool) -> list[Any]:
        """Every worker's answer to its share of the rows."""
        for worker, first, last in zip(self.workers, self.bounds, self.bounds[1:], strict=False):
            worker.ask(rows[first:last], new_round)
        return [worker.answer() for worker in self.workers]

    def close(self) -> None:
        for worker in self.workers:
            if isinstance(worker, Worker):
                worker.pipe.close()  # so that all of them end at the same time
        for worker in self.workers:
            worker.close()
        self.stack.close()

    def __enter__(self) -> Environments:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def can_be_pickled(task: Task) -> bool:
    """Whether another process can import the task's functions: they are neither local nor part of the running script."""
    try:
        return b"__main__" not in pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
