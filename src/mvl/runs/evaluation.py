"""Evaluate trained policies: during training, and later from a run folder."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mvl.checks import COUNT, NOT_NEGATIVE, SEED
from mvl.errors import UsageError
from mvl.evaluation.acting import as_act, batched_act, planned
from mvl.evaluation.environments import Environments
from mvl.evaluation.rollout import Act, Played, play
from mvl.learn.learner import Learner, State
from mvl.machine import cores
from mvl.recipes.presets import PlannerName
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


def with_plan(
    act: Act,
    run: Path,
    description: Description,
    learner: Learner,
    state: State,
    plan: PlannerName | None = None,
    report: Report | None = None,
) -> Act:
    """The policies of a run's state with the named planner, by default that of the training's evaluations."""
    graph = planner_of(description.experiment.schedule, plan)
    return planned(act, followers(run, description, learner, state, graph, report)) if graph else act


def first_policy(run: Path | str, description: Description, learner: Learner, state: State) -> Act:
    """The policy of a run's first seed, with the planner of the training's evaluations."""
    first = jax.tree.map(lambda leaf: leaf[:1], state)
    act = as_act(batched_act(learner, 1, description.experiment.schedule.eval_temperature), first.params)
    return with_plan(act, Path(run), description, learner, first)


def evaluate(
    run: Path | str,
    *,
    episodes: int = 50,
    temperature: float | None = None,
    seed: int = 0,
    workers: int | None = None,
    record: bool = False,
    env: Callable[[], Any] | str | None = None,
    task: str | None = None,
    plan: PlannerName | None = None,
    report: Report | None = None,
) -> Played:
    """Play `episodes` for each evaluation goal with the policies of all seeds in a run's last checkpoint.

    `env` makes a Gymnasium environment to play in instead of the task's own; `task` names another task to play instead, which
    must have the same observations and actions. `plan` names a planner, by default that of the
    training's evaluations; while its graph is built, `report` is called.
    """
    COUNT.check(episodes=episodes, workers=workers)
    NOT_NEGATIVE.check(temperature=temperature)
    SEED.check(seed=seed)
    description, learner, state = restore(run)
    played_task = _task_to_play(description, learner, env, task)
    if not played_task.simulated:
        raise UsageError(f"{run} was trained on {description.task}, which has no environment to play in; name one with --env.")
    if temperature is None:
        temperature = description.experiment.schedule.eval_temperature
    seeds = len(description.experiment.seeds)
    act = as_act(batched_act(learner, seeds, temperature), state.params)
    act = with_plan(act, Path(run), description, learner, state, plan, report)
    with Environments(played_task, workers or cores()) as environments:
        return play(act, environments, seeds, episodes, (seed, int(state.step[0]), 1), record)


def _task_to_play(description: Description, learner: Learner, env: Callable[[], Any] | str | None, name: str | None) -> Task:
    """The run's task, that task in another environment, or the task of that name if the policy fits it."""
    if env and name:
        raise UsageError("--env and --task both say where to play; give one of them.")
    if name is None:
        return replace(description.task, env=env) if env else description.task
    task = find_task(name)
    sizes, actions = first_states(task)[0].shape[1], task.make_env().action_space.shape
    if (sizes, actions) != (learner.shapes.observation, (learner.shapes.action,)):
        raise UsageError(
            f"{task} has observations of {sizes} numbers and actions of shape {actions}, and this policy takes "
            f"{learner.shapes.observation} and gives {learner.shapes.action}; choose another --task."
        )
    return task
