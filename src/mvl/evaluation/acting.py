"""Trained policies as the evaluation calls them: one compiled call for all seeds and episodes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mvl.evaluation.rollout import Act
from mvl.learn.execution import EXECUTIONS, Recent
from mvl.learn.learner import Learner, Parameters
from mvl.learn.loop import over_seeds
from mvl.recipes.presets import ExecutionName


class BatchedPolicy(NamedTuple):
    """The policies of all seeds, without their parameters."""

    learner: Learner
    answer: Callable[..., Array]
    """Parameters, observations, goals, episode numbers and time -> chunks of actions as vectors, (seeds, episodes, steps, a)."""


def batched_act(learner: Learner, seeds: int, temperature: float) -> BatchedPolicy:
    """One compiled call for all seeds and episodes.

    Every episode has its own random key, made from its number and the time, so a stochastic policy plays the same
    episode whatever other episodes are in the batch.
    """

    def one(params: Parameters, state: Array, goal: Array, number: Array, time: Array) -> Array:
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), number), time)
        return learner.answer(params, state, goal, key, jnp.asarray(temperature))

    def batch(params: Parameters, states: Array, goals: Array, numbers: Array, time: Array) -> Array:
        return jax.vmap(one, in_axes=(None, 0, 0, 0, None))(params, states, goals, numbers, time)

    return BatchedPolicy(learner, jax.jit(over_seeds(batch, seeds, shared=2)))


class Planner(Protocol):
    """Chooses the goals to pursue now, for episodes that were begun together."""

    def begin(self, observations: np.ndarray, goals: np.ndarray) -> None: ...

    def subgoals(self, observations: np.ndarray, over: np.ndarray) -> np.ndarray:
        """The goals to pursue now; of episodes that are `over`, (episodes,), any."""
        ...


def as_act(policy: BatchedPolicy, params: Parameters, planners: Sequence[Planner] = (), execute: ExecutionName = "open") -> Act:
    """The policies with their parameters bound, on NumPy arrays; at time 0 all episodes begin.

    With `planners`, one for each seed, they pursue sub-goals instead of the goals. `execute` says how chunks are executed.
    """
    head = policy.learner.head
    execution, recent = EXECUTIONS[execute](head.chunk), Recent(policy.learner.recipe.learning.history)

    def pursued(states: np.ndarray, goals: np.ndarray, time: int, over: np.ndarray) -> np.ndarray:
        if not planners:
            return goals
        if time == 0:
            for planner, first, goal in zip(planners, states, goals, strict=True):
                planner.begin(first, goal)
        return np.stack([planner.subgoals(*now) for planner, *now in zip(planners, states, over, strict=True)])

    def act(observations: np.ndarray, goals: np.ndarray, numbers: np.ndarray, time: int, over: np.ndarray) -> np.ndarray:
        if time == 0:
            execution.reset()
            recent.reset()
        states = recent.add(observations)
        towards = pursued(states, goals, time, over)
        vectors = execution.next(lambda: np.asarray(policy.answer(params, states, towards, numbers, time)))
        return head.actions_of(vectors)

    return act
