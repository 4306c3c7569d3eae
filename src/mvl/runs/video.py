"""Videos of a run's policy: episodes of an evaluation, filmed."""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from mvl.checks import COUNT, SEED, check_settings
from mvl.errors import MvlError, UsageError
from mvl.evaluation.acting import as_act, batched_act
from mvl.evaluation.environments import Environments
from mvl.evaluation.film import Film, check_installed
from mvl.evaluation.rollout import Act, Played, play, starts
from mvl.machine import cores, renderer
from mvl.runs.restore import restore
from mvl.tasks import Task

SMALLEST, LARGEST = 64, 2048


class Clip(NamedTuple):
    """One filmed episode."""

    path: Path
    task: int
    episode: int
    reached: list[bool]
    """The task's goal, or each of a kitchen's subtasks."""
    steps: int


@dataclass(frozen=True)
class Shots:
    """Which episodes to film, and how; the same seed as an evaluation's films the same episodes."""

    episodes: int = 1
    tasks: Sequence[int] | None = None
    """From 1; all unless given."""
    seed: int = 0
    size: int = 480
    fps: int = 30
    frames: int = 500
    """Of a longer episode not every step is shown, so that there are no more frames than this."""

    def __post_init__(self) -> None:
        check_settings(self, episodes=COUNT, seed=SEED, size=COUNT, fps=COUNT, frames=COUNT)
        if self.size % 2 or not SMALLEST <= self.size <= LARGEST:
            raise UsageError(f"size must be an even number of pixels from {SMALLEST} to {LARGEST}, not {self.size}.")

    def chosen(self, tasks: int) -> list[int]:
        """Of an environment with so many tasks."""
        for task in self.tasks or ():
            if not 1 <= task <= tasks:
                raise UsageError(f"there is no task {task}; choose from 1 to {tasks}.")
        return sorted(set(self.tasks or range(1, tasks + 1)))


Tell = Callable[[int, int], None]
"""Is called with how much is done, and of how much."""


def film(run: Path | str, to: Path, shots: Shots, tell: Tell = lambda done, total: None, overwrite: bool = False) -> list[Clip]:
    """Film episodes of the run's first policy into a folder, one mp4 file each; their names tell how they ended."""
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
    params = jax.tree.map(lambda leaf: leaf[:1], state.params)
    act = as_act(batched_act(learner, 1, description.experiment.schedule.eval_temperature), params)
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to, prefix=".film-") as scratch:
        camera = Film(scratch, backend, shots.size, shots.fps, shots.frames)
        seed = (shots.seed, int(state.step[0]), 1)
        played, files = _filmed(act, description.task, camera, shots, chosen, seed, tell)
        for file in earlier:
            file.unlink()
        return _kept(played, files, stems, to, shots.episodes, chosen)


def _filmed(
    act: Act, task: Task, camera: Film, shots: Shots, chosen: list[int], seed: tuple[int, ...], tell: Tell
) -> tuple[Played, list[Path]]:
    """Play the episodes; what came of them, and their files."""
    count = len(chosen) * shots.episodes
    with Environments(task, min(cores(), count), camera) as environments:
        total = -(-count // environments.at_once) * task.episode_limit()
        played = play(_counted(act, tell, total), environments, 1, shots.episodes, seed, only=chosen)
        tell(total, total)
        plan = starts(task.goals, shots.episodes, seed)
    return played, [camera.file(start) for start in plan if start.goal in chosen]


def _counted(act: Act, tell: Tell, total: int) -> Act:
    """The same policy, which tells how many of the longest possible episodes' steps are behind it."""
    done = 0

    def counted(observations: np.ndarray, goals: np.ndarray, numbers: np.ndarray, time: int) -> np.ndarray:
        nonlocal done
        done = min(done + 1, total - 1)
        tell(done, total)
        return act(observations, goals, numbers, time)

    return counted


def _kept(played: Played, files: list[Path], stems: list[str], to: Path, episodes: int, chosen: list[int]) -> list[Clip]:
    """Give the films their names."""
    reached = played.success[0].reshape(len(chosen), -1, episodes)  # a kitchen's subtasks are of the same episodes
    clips = []
    for number, (file, stem) in enumerate(zip(files, stems, strict=True)):
        row, episode = divmod(number, episodes)
        outcome = reached[row, :, episode].tolist()
        path = to / f"{stem}-{in_words(outcome).replace(' ', '-')}.mp4"
        os.replace(file, path)
        clips.append(Clip(path, chosen[row], episode + 1, outcome, int(played.lengths[0, row, episode])))
    return clips


def in_words(reached: list[bool]) -> str:
    if len(reached) > 1:
        return f"{sum(reached)} of {len(reached)}"
    return "reached" if reached[0] else "missed"
