"""Recordings of a run's policy in its environment, for the viewer."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from mvl.deploy.viewer.episodes import RecordedEpisode, physics, play_recorded
from mvl.errors import UsageError
from mvl.evaluation.acting import as_act, batched_act
from mvl.evaluation.rollout import Act, starts
from mvl.planning.following import Follower
from mvl.recipes.presets import PlannerName
from mvl.registry import name_of
from mvl.results.geometry import values_on_grid
from mvl.runs.folder import Description, RunFolder
from mvl.runs.planning import followers, planner_of
from mvl.runs.restore import restore
from mvl.tasks import Task
from mvl.tasks.maze import Maze
from mvl.tasks.simulator import Simulator, quiet_simulators

Report = Callable[[int, int], None]
"""Called with (done, total) steps; the total is that of episodes of maximal length."""


class Plan(NamedTuple):
    """The planner's part in an episode."""

    nodes: np.ndarray  # (nodes, g) of the graph
    path: np.ndarray  # (nodes on the first path, g)
    subgoals: np.ndarray  # (length, g) pursued at every step


@dataclass(frozen=True)
class Recording:
    """Episodes of a run's policy, and the MuJoCo model of their environment."""

    name: str
    description: Description
    model: Any
    episodes: list[list[RecordedEpisode]]
    """Episodes of each task."""
    maze: Maze | None
    values: list[list[np.ndarray]]  # like `episodes`: V(s, goal) on the grid (rows, columns); or empty
    plans: list[list[Plan]]
    """Like `episodes`; empty if the policy does not plan."""

    @property
    def mollified(self) -> bool:
        """Whether the run's value was trained with the mollified regularizer."""
        return name_of("regularizer", self.description.experiment.recipe.regularizer) == "mollified"


def check(runs: list[Path]) -> None:
    """Refuse runs that cannot be shown, or cannot be shown side by side."""
    described = [RunFolder.open(run)[1] for run in runs]
    for run, description in zip(runs, described, strict=True):
        if not description.task.simulated or description.task.images:
            raise UsageError(f"{run} was trained on {description.task}, which has no 3-D environment; choose another run.")
    tasks = [description.task for description in described]
    if len({task.world or str(task) for task in tasks}) > 1:
        raise UsageError(f"{' and '.join(map(str, tasks))} are different environments; view one run at a time.")


class PlanRecorder:
    """A planner of one episode at a time that keeps what it planned."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.paths: list[np.ndarray] = []
        self.pursued: list[list[np.ndarray]] = []

    def begin(self, observations: np.ndarray, goals: np.ndarray) -> None:
        self.follower.begin(observations, goals)
        self.paths.append(self.follower.path(0))
        self.pursued.append([])

    def subgoals(self, observations: np.ndarray, over: np.ndarray) -> np.ndarray:
        chosen = self.follower.subgoals(observations, over)
        self.pursued[-1].append(chosen[0])
        return chosen

    def plans(self) -> list[Plan]:
        """What was planned in each episode."""
        nodes = self.follower.map.goals
        return [Plan(nodes, path, np.array(pursued)) for path, pursued in zip(self.paths, self.pursued, strict=True)]


def record(
    run: Path, episodes: int, seed: int, report: Report = lambda done, total: None, plan: PlannerName | None = None
) -> Recording:
    """Record the episodes that `mvl eval` plays with this seed, for the run's first seed, and its value on mazes."""
    description, learner, state = restore(run)
    first = jax.tree.map(lambda leaf: leaf[:1], state)
    schedule = description.experiment.schedule
    task, graph = description.task, planner_of(schedule, plan)
    planning = [PlanRecorder(follower) for follower in followers(run, description, learner, first, graph)] if graph else []
    act = as_act(batched_act(learner, 1, schedule.eval_temperature), first.params, planning, schedule.execute)
    with quiet_simulators():
        simulator = task.make_simulator()
        played = _play_all(task, simulator, act, episodes, (seed, int(state.step[0]), 1), report)
    plans = [plan for recorder in planning for plan in recorder.plans()]
    maze = task.maze() if task.maze else None
    values: list[list[np.ndarray]] = []
    if maze is not None and learner.recipe.has_surface:
        params = jax.tree.map(lambda leaf: leaf[0], state.params)
        values = [[values_on_grid(learner, params, maze, e.observations[0], e.goal) for e in goal] for goal in played]
    model, _ = physics(simulator.env)
    grouped = [plans[number : number + episodes] for number in range(0, len(plans), episodes)]
    return Recording(run.resolve().name, description, model, played, maze, values, grouped)


def _play_all(
    task: Task, simulator: Simulator, act: Act, episodes: int, seed: tuple[int, ...], report: Report
) -> list[list[RecordedEpisode]]:
    """Play all episodes of all tasks."""
    longest, plan = task.episode_limit(simulator.env), starts(task.goals, episodes, seed)
    played = []
    for number, start in enumerate(plan):

        def choose(observation: np.ndarray, goal: np.ndarray, time: int, number: int = number) -> np.ndarray:
            rows = np.asarray(observation, np.float32)[None, None], np.asarray(goal, np.float32)[None, None]
            action: np.ndarray = act(*rows, np.array([number]), time, np.zeros((1, 1), bool))[0, 0]
            return action

        def step(done: int, before: int = number * longest) -> None:
            report(before + done, len(plan) * longest)

        played.append(play_recorded(simulator, start, choose, step))
    if played[-1].length < longest:
        report(len(plan) * longest, len(plan) * longest)
    return [played[first : first + episodes] for first in range(0, len(played), episodes)]
