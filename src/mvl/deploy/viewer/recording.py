"""What a run's policy does in its environment, kept to be shown."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mvl.deploy.viewer.episodes import Episode, physics, play_recorded
from mvl.errors import UsageError
from mvl.evaluation.acting import as_act, batched_act
from mvl.evaluation.rollout import Act, starts
from mvl.registry import name_of
from mvl.results.geometry import values_on_grid
from mvl.runs.folder import Description, RunFolder
from mvl.runs.restore import restore
from mvl.tasks import Task
from mvl.tasks.maze import Maze
from mvl.tasks.simulator import Simulator, quiet_simulators

Report = Callable[[int, int], None]
"""Called with the steps done and the steps there can be."""


@dataclass(frozen=True)
class Recording:
    """Episodes of a run's policy, and the model they were played in."""

    name: str
    description: Description
    model: Any
    episodes: list[list[Episode]]
    """Of each task."""
    maze: Maze | None
    values: list[list[np.ndarray]]  # (rows, columns) V(s, goal) over the maze for each episode; empty where there is none

    @property
    def mollified(self) -> bool:
        return name_of("regularizer", self.description.experiment.recipe.regularizer) == "mollified"


def check(runs: list[Path]) -> None:
    """Refuse runs that cannot be shown, or not beside each other."""
    described = [RunFolder.open(run)[1] for run in runs]
    for run, description in zip(runs, described, strict=True):
        if not description.task.simulated or description.task.images:
            raise UsageError(f"{run} was trained on {description.task}, which has no 3-D environment to look at.")
    tasks = [description.task for description in described]
    if len({task.world or str(task) for task in tasks}) > 1:
        raise UsageError(f"{' and '.join(map(str, tasks))} are different environments; look at them one at a time.")


def record(run: Path, episodes: int, seed: int, report: Report = lambda done, total: None) -> Recording:
    """Episodes started as `mvl eval` starts them with that seed, of the run's first policy, with the value it acted on."""
    description, learner, state = restore(run)
    params = jax.tree.map(lambda leaf: leaf[:1], state.params)
    act = as_act(batched_act(learner, 1, description.experiment.schedule.eval_temperature), params)
    task = description.task
    with quiet_simulators():
        simulator = task.make_simulator()
        played = _play_all(task, simulator, act, episodes, (seed, int(state.step[0]), 1), report)
    maze = task.maze() if task.maze else None
    values: list[list[np.ndarray]] = []
    if maze is not None and learner.recipe.has_surface:
        first = jax.tree.map(lambda leaf: leaf[0], state.params)
        values = [[values_on_grid(learner, first, maze, e.observations[0], e.goal) for e in goal] for goal in played]
    model, _ = physics(simulator.env)
    return Recording(run.resolve().name, description, model, played, maze, values)


def _play_all(
    task: Task, simulator: Simulator, act: Act, episodes: int, seed: tuple[int, ...], report: Report
) -> list[list[Episode]]:
    longest, plan = task.episode_limit(simulator.env), starts(task.goals, episodes, seed)
    played = []
    for number, start in enumerate(plan):

        def choose(observation: np.ndarray, goal: np.ndarray, time: int, number: int = number) -> np.ndarray:
            rows = np.asarray(observation, np.float32)[None, None], np.asarray(goal, np.float32)[None, None]
            return act(*rows, np.array([number]), time)[0, 0]

        def step(done: int, before: int = number * longest) -> None:
            report(before + done, len(plan) * longest)

        played.append(play_recorded(simulator, start, choose, step))
    if played[-1].length < longest:
        report(len(plan) * longest, len(plan) * longest)
    return [played[first : first + episodes] for first in range(0, len(played), episodes)]
