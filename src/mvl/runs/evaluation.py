"""Evaluate trained policies: during training, and later from a run folder."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mvl.checks import COUNT, NOT_NEGATIVE, SEED
from mvl.errors import UsageError
from mvl.evaluation.acting import as_act, batched_act
from mvl.evaluation.environments import Environments
from mvl.evaluation.rollout import Act, Played, play
from mvl.learn.learner import Learner, State
from mvl.machine import cores
from mvl.planning.following import Follower
from mvl.recipes.presets import ExecutionName, PlannerName
from mvl.runs.folder import Description
from mvl.runs.planning import Report, followers, planner_of
from mvl.runs.restore import restore
from mvl.tasks import Task, find_task
from mvl.tasks.simulator import first_states

LAST = 3
"""The reported success is the mean over this many last evaluations (the paper's protocol)."""


def evaluation_rows(played: Played, seeds: Sequence[int], step: int) -> list[dict[str, Any]]:
    """One row of evaluations.jsonl per seed."""
    return [
        {
            "step": step,
            "seed": seed,
            "episodes": played.success.shape[2],
            "overall": round(float(played.overall[i]), 6),
            "tasks": [round(float(value), 6) for value in played.per_task[i]],
            "mean_length": round(float(played.lengths[i].mean()), 3),
        }
        for i, seed in enumerate(seeds)
    ]


def reported(evaluations: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Per seed, the mean of the last evaluations: overall and per task."""
    result = {}
    for seed in sorted({row["seed"] for row in evaluations}):
        last = [row for row in evaluations if row["seed"] == seed][-LAST:]
        result[seed] = {
            "overall": float(np.mean([row["overall"] for row in last])),
            "tasks": np.mean([row["tasks"] for row in last], axis=0).tolist(),
            "steps": [row["step"] for row in last],
        }
    return result


def planners_of(
    run: Path,
    description: Description,
    learner: Learner,
    state: State,
    plan: PlannerName | None = None,
    report: Report | None = None,
) -> list[Follower]:
    """The named planner for each seed of a run's state, by default that of the training's evaluations; empty for none."""
    graph = planner_of(description.experiment.schedule, plan)
    return followers(run, description, learner, state, graph, report) if graph else []


def first_policy(run: Path | str, description: Description, learner: Learner, state: State) -> Act:
    """The policy of a run's first seed, with the planner of the training's evaluations."""
    first = jax.tree.map(lambda leaf: leaf[:1], state)
    schedule, planners = description.experiment.schedule, planners_of(Path(run), description, learner, first)
    return as_act(batched_act(learner, 1, schedule.eval_temperature), first.params, planners, schedule.execute)


def evaluate(
    run: Path | str,
    *,
    episodes: int = 50,
    temperature: float | None = None,
    seed: int = 0,
    workers: int | None = None,
    record: bool = False,
    env: Callable[[], Any] | str | None = None,
    goals: int | None = None,
    task: str | None = None,
    plan: PlannerName | None = None,
    execute: ExecutionName | None = None,
    report: Report | None = None,
) -> Played:
    """Play `episodes` for each evaluation goal with the policies of all seeds in a run's last checkpoint.

    `env` makes a Gymnasium environment to play in instead of the task's own, with so many `goals`; `task` names another task to
    play instead, which must have the same observations, goals and actions. `plan` names a planner and `execute` a way to execute
    chunks, by default those of the training's evaluations; while a planner's graph is built, `report` is called.
    """
    COUNT.check(episodes=episodes, workers=workers, goals=goals)
    NOT_NEGATIVE.check(temperature=temperature)
    SEED.check(seed=seed)
    description, learner, state = restore(run)
    played_task = _task_to_play(description, learner, env, goals, task)
    if not played_task.simulated:
        raise UsageError(f"{run} was trained on {description.task}, which has no environment to play in; name one with --env.")
    if temperature is None:
        temperature = description.experiment.schedule.eval_temperature
    seeds = len(description.experiment.seeds)
    planners = planners_of(Path(run), description, learner, state, plan, report)
    way = execute or description.experiment.schedule.execute
    act = as_act(batched_act(learner, seeds, temperature), state.params, planners, way)
    with Environments(played_task, workers or cores()) as environments:
        return play(act, environments, seeds, episodes, (seed, int(state.step[0]), 1), record)


def _task_to_play(
    description: Description, learner: Learner, env: Callable[[], Any] | str | None, goals: int | None, name: str | None
) -> Task:
    """The run's task, that task in another environment, or the task of that name if the policy fits it."""
    if env and name:
        raise UsageError("--env and --task both say where to play; give one of them.")
    if name is None:
        own = description.task
        return replace(own, env=env, goals=goals or own.goals) if env else own
    task = find_task(name)
    observations, lengths = (found.shape[1] for found in first_states(task))
    taken = learner.shapes.observation // learner.recipe.learning.history, learner.shapes.goal
    if (observations, lengths) != taken:
        raise UsageError(
            f"{task} has observations of {observations} numbers and goals of {lengths}, but this policy takes {taken[0]} and "
            f"{taken[1]}; choose another --task."
        )
    return task
