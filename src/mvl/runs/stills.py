"""Stills of an episode that a run's policy plays."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mvl.checks import COUNT, SEED
from mvl.errors import UsageError
from mvl.evaluation.environments import Environments
from mvl.evaluation.rollout import Act, Played, play, starts
from mvl.evaluation.stills import Stills
from mvl.files import scratch_folder
from mvl.machine import renderer
from mvl.runs.evaluation import first_policy
from mvl.runs.folder import Description
from mvl.runs.restore import restore
from mvl.tasks import Task


class Episode(NamedTuple):
    """An episode, and some of its steps as pictures."""

    description: Description
    reached: list[bool]
    """Whether the goal was reached, or each of the task's subtasks."""
    path: np.ndarray  # (length + 1, d) observations
    goal: np.ndarray  # (k,)
    steps: list[int]
    """The steps to be shown, from the first to the last."""
    pictures: list[np.ndarray]
    """A picture (size, size, 3) of each, or none if the task has a map."""


def episode(run: Path, goal: int, frames: int, size: int, seed: int = 0) -> Episode:
    """The first episode that `mvl eval` plays with this seed for a goal, from 1, with `frames` of it at equal times.

    A task with a map is not rendered. The episode is played twice, because its length is not known before.
    """
    COUNT.check(frames=frames, size=size)
    SEED.check(seed=seed)
    description, learner, state = restore(run)
    task = description.task
    if not task.simulated:
        raise UsageError(f"{run} was trained on {task}, which has no environment to show.")
    if not 1 <= goal <= task.goals:
        raise UsageError(f"there is no task {goal}; choose from 1 to {task.goals}.")
    backend = "" if task.maze else renderer()
    act, key = first_policy(run, description, learner, state), (seed, int(state.step[0]), 1)
    played = _play(act, task, goal, key)
    length = int(played.lengths.item())
    steps = sorted({round(share * length) for share in np.linspace(0, 1, frames)})
    pictures = [] if task.maze else _pictures(act, task, goal, key, steps, size, backend)
    return Episode(description, played.success.ravel().tolist(), played.paths[0], played.goals[0, 0, 0], steps, pictures)


def _play(act: Act, task: Task, goal: int, key: tuple[int, ...], stills: Stills | None = None) -> Played:
    with Environments(task, 1, stills) as environments:
        return play(act, environments, 1, 1, key, record=True, only=[goal])


def _pictures(
    act: Act, task: Task, goal: int, key: tuple[int, ...], steps: list[int], size: int, backend: str
) -> list[np.ndarray]:
    start = starts(task.goals, 1, key)[goal - 1]
    with scratch_folder() as folder:
        stills = Stills(folder, backend, size, tuple(steps))
        _play(act, task, goal, key, stills)
        return [np.load(stills.file(start, step)) for step in steps]
