"""Videos of a run's policy: filmed episodes of an evaluation."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mvl.checks import COUNT, SEED, check_settings
from mvl.errors import MvlError, UsageError
from mvl.evaluation.environments import Environments
from mvl.evaluation.film import Film, check_installed
from mvl.evaluation.rollout import Act, Played, play, starts
from mvl.files import scratch_folder
from mvl.machine import cores, renderer
from mvl.runs.evaluation import first_policy
from mvl.runs.restore import restore
from mvl.tasks import Task

SMALLEST, LARGEST = 64, 2048


class Clip(NamedTuple):
    """One filmed episode."""

    path: Path
    task: int
    episode: int
    reached: list[bool]
    """Whether the goal was reached, or each of the task's subtasks."""
    steps: int


@dataclass(frozen=True)
class Shots:
    """Which episodes to film, and how; with the seed of an evaluation, its episodes are filmed."""

    episodes: int = 1
    tasks: Sequence[int] | None = None
    """Numbers of the tasks, counted from 1; all by default."""
    seed: int = 0
    size: int = 480
    fps: int = 30
    frames: int = 500
    """Upper limit of frames per film; of longer episodes not every step is shown."""

    def __post_init__(self) -> None:
        check_settings(self, episodes=COUNT, seed=SEED, size=COUNT, fps=COUNT, frames=COUNT)
        if self.size % 2 or not SMALLEST <= self.size <= LARGEST:
            raise UsageError(f"size must be an even number of pixels from {SMALLEST} to {LARGEST}, not {self.size}.")

    def chosen(self, tasks: int) -> list[int]:
        """The chosen tasks of an environment that has so many, in order."""
        for task in self.tasks or ():
            if not 1 <= task <= tasks:
                raise UsageError(f"there is no task {task}; choose from 1 to {tasks}.")
        return sorted(set(self.tasks or range(1, tasks + 1)))


Report = Callable[[int, int], None]
"""Called with (done, total) steps."""


def film(
    run: Path | str, to: Path, shots: Shots, report: Report = lambda done, total: None, overwrite: bool = False
) -> list[Clip]:
    """Film episodes of the run's first seed, each into one mp4 file of a folder; the file names have the outcome."""
    description, learner, state = restore(run)
    if not description.task.simulated:
        raise UsageError(f"{run} was trained on {description.task}, which has no environment to film.")
    chosen = shots.chosen(description.task.goals)
    stems = [f"task{task}-episode{episode + 1}" for task in chosen for episode in range(shots.episodes)]
    earlier = [file for stem in stems for file in to.glob(f"{stem}-*.mp4")]
    if earlier and not overwrite:
        raise MvlError(f"{earlier[0]} exists already; choose another folder with --to, or replace it with --overwrite.")
    check_installed()
    backend = renderer()
    act = first_policy(run, description, learner, state)
    to.mkdir(parents=True, exist_ok=True)
    with scratch_folder(to, ".film-") as scratch:
        camera = Film(scratch, backend, shots.size, shots.fps, shots.frames)
        seed = (shots.seed, int(state.step[0]), 1)
        played, files = _play_and_film(act, description.task, camera, shots, chosen, seed, report)
        for file in earlier:
            file.unlink()
        return _move_films(played, files, stems, to, shots.episodes, chosen)


def _play_and_film(
    act: Act, task: Task, camera: Film, shots: Shots, chosen: list[int], seed: tuple[int, ...], report: Report
) -> tuple[Played, list[Path]]:
    """Play the chosen episodes; returns their results and the files of their films."""
    count = len(chosen) * shots.episodes
    with Environments(task, min(cores(), count), camera) as environments:
        total = -(-count // environments.at_once) * task.episode_limit()
        played = play(_with_progress(act, report, total), environments, 1, shots.episodes, seed, only=chosen)
        report(total, total)
        plan = starts(task.goals, shots.episodes, seed)
    return played, [camera.file(start) for start in plan if start.goal in chosen]


def _with_progress(act: Act, report: Report, total: int) -> Act:
    """The same policy, which reports its number of calls; `total` is the number if all episodes are as long as possible."""
    done = 0

    def reporting(observations: np.ndarray, goals: np.ndarray, numbers: np.ndarray, time: int, over: np.ndarray) -> np.ndarray:
        nonlocal done
        done = min(done + 1, total - 1)
        report(done, total)
        return act(observations, goals, numbers, time, over)

    return reporting


def _move_films(played: Played, files: list[Path], stems: list[str], to: Path, episodes: int, chosen: list[int]) -> list[Clip]:
    """Move the films to the folder `to`, under names with their outcomes."""
    reached = played.success[0].reshape(len(chosen), -1, episodes)  # (tasks, 1 or subtasks, episodes)
    clips = []
    for number, (file, stem) in enumerate(zip(files, stems, strict=True)):
        row, episode = divmod(number, episodes)
        outcome = reached[row, :, episode].tolist()
        path = to / f"{stem}-{in_words(outcome).replace(' ', '-')}.mp4"
        os.replace(file, path)
        clips.append(Clip(path, chosen[row], episode + 1, outcome, int(played.lengths[0, row, episode])))
    return clips


def in_words(reached: list[bool]) -> str:
    """The outcome of an episode: `reached`, `missed`, or for several subtasks the number reached."""
    if len(reached) > 1:
        return f"{sum(reached)} of {len(reached)}"
    return "reached" if reached[0] else "missed"
