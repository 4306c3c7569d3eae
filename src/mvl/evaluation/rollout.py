"""Plays the episodes of an evaluation, with one batched policy call per step for all seeds and episodes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mvl.evaluation.environments import Environments
from mvl.tasks.simulator import Start

Act = Callable[[np.ndarray, np.ndarray, np.ndarray, int, np.ndarray], np.ndarray]
"""Observations (seeds, episodes, d), goals (seeds, episodes, k), episode numbers, time, and which are over (seeds, episodes)
-> actions (seeds, episodes, a)."""


class Played(NamedTuple):
    """Episodes of one evaluation."""

    success: np.ndarray  # (seeds, tasks, episodes) bool: at the last step
    """If a task has subtasks, they are the second axis here, while `lengths` and `goals` have one task."""
    lengths: np.ndarray  # (seeds, tasks, episodes) steps
    paths: list[np.ndarray]
    """Observations of each episode (length + 1, d), in the order seeds, tasks, episodes; empty unless recorded."""
    goals: np.ndarray  # (seeds, tasks, episodes, k)

    @property
    def per_task(self) -> np.ndarray:
        """Success rate of each task."""
        return np.asarray(self.success.mean(axis=2))  # (seeds, tasks)

    @property
    def overall(self) -> np.ndarray:
        """Mean success rate over tasks."""
        return np.asarray(self.per_task.mean(axis=1))  # (seeds,)


def starts(goals: int, episodes: int, seed: tuple[int, ...]) -> list[Start]:
    """The starts of an evaluation's episodes, ordered by goal; each has its own seed."""
    state = np.random.SeedSequence(seed).generate_state(goals * episodes)
    return [Start(1 + index // episodes, int(value)) for index, value in enumerate(state)]


def play(
    act: Act,
    environments: Environments,
    seeds: int,
    episodes: int,
    seed: tuple[int, ...],
    record: bool = False,
    only: Sequence[int] | None = None,
) -> Played:
    """Play `episodes` for each evaluation goal, or each in `only`, with the policy of every seed; starts are the same for all."""
    plan = starts(environments.task.goals, episodes, seed)
    numbers = np.array([number for number, start in enumerate(plan) if only is None or start.goal in only])
    size = max(1, environments.at_once // seeds)
    rounds = [
        _play_round(act, environments, seeds, numbers[first : first + size], plan, record)
        for first in range(0, len(numbers), size)
    ]
    shape = (seeds, len(numbers) // episodes, episodes)
    success, lengths, goals = (np.concatenate([r[i] for r in rounds], axis=1) for i in range(3))
    paths = [path for s in range(seeds) for r in rounds for path in r[3][s]] if record else []
    scored = np.moveaxis(success.reshape(*shape, -1), 3, 2).reshape(seeds, -1, episodes)
    return Played(scored, lengths.reshape(shape), paths, goals.reshape(*shape, -1))


def _play_round(
    act: Act, environments: Environments, seeds: int, numbers: np.ndarray, plan: list[Start], record: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[list[np.ndarray]]]:
    """Play these episodes of the plan to their ends: success, lengths, goals, and paths if recorded."""
    flat = environments.reset([plan[number] for number in numbers] * seeds)
    observations, goals = (array.reshape(seeds, len(numbers), -1) for array in flat)
    done = np.zeros((seeds, len(numbers)), bool)
    success = done[..., None]
    lengths = np.zeros((seeds, len(numbers)), int)
    history, time = [observations], 0
    while not done.all():
        actions = act(observations, goals, numbers, time, done)
        time += 1
        lengths += ~done
        flat_observations, flat_done, flat_success = environments.step(actions.reshape(seeds * len(numbers), -1))
        observations = flat_observations.reshape(observations.shape)
        done, success = flat_done.reshape(done.shape), flat_success.reshape(*done.shape, -1)
        if record:  # of images they are large
            history.append(observations)
    paths = _paths(np.stack(history), lengths) if record else []
    return success, lengths, goals, paths


def _paths(history: np.ndarray, lengths: np.ndarray) -> list[list[np.ndarray]]:
    """Cut each episode's observations (time, seeds, episodes, d) at its own end."""
    return [[history[: n + 1, s, e] for e, n in enumerate(row)] for s, row in enumerate(lengths)]
