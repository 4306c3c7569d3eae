"""Rollouts of policies in the learned model of the data, from held-out states towards other held-out states."""

import jax
import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.memory_map import take
from mvl.evaluation.held_out.trial import Pairs, Trial

COUNT = 200
"""Rollouts per seed."""
NEAR = 5
"""A goal is reached within the distance that the data covers in this many steps, on average."""
LONGEST = 400
"""Steps of a rollout: as many as nine of ten held-out episodes have, but no more than this."""


def reached(trial: Trial, pairs: Pairs) -> np.ndarray:
    """Share of rollouts that end near their goal, (seeds,)."""
    return np.asarray((distances(trial, Pairs(pairs.states[:COUNT], pairs.goals[:COUNT]))[-1] <= 1).mean(axis=1))


def distances(trial: Trial, pairs: Pairs) -> np.ndarray:
    """How far rollouts of all seeds are from their goals, (steps + 1, seeds, pairs); near is at most 1."""
    data, step = trial.held_out, jax.jit(trial.dynamics.next)
    states = take(data.observations, pairs.states), data.as_goals(pairs.states), data.as_goals(pairs.goals)
    observations, there, goals = (np.repeat(array[None], trial.seeds, axis=0) for array in states)
    passed, over = [there], np.zeros(observations.shape[:2], bool)
    for time in range(horizon(data)):
        actions = trial.act(observations, goals, np.arange(len(pairs.states)), time, over)
        observations, there = (np.asarray(array) for array in step(observations, actions))
        passed.append(there)
    return np.asarray(np.linalg.norm((np.stack(passed) - goals) / goal_unit(trial), axis=-1))


def horizon(data: Dataset) -> int:
    """Steps of a rollout."""
    return int(min(LONGEST, np.quantile(data.lengths - 1, 0.9)))


def goal_unit(trial: Trial) -> np.ndarray:
    """The length with which near is 1 in each dimension of goals, (g,): its standard deviation, times what `NEAR` steps cover."""
    data, deviation = trial.held_out, np.array(trial.dynamics.goal_moments.std)
    ahead = np.minimum(data.transitions + NEAR, data.final_goals[data.transitions])
    covered = np.linalg.norm((data.as_goals(ahead) - data.as_goals(data.transitions)) / deviation, axis=1).mean()
    return np.asarray(deviation * max(covered, 1e-6))
