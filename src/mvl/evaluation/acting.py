"""Trained policies as the evaluation calls them: one compiled call for all seeds and episodes."""

from collections.abc import Callable, Sequence
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mvl.evaluation.rollout import Act
from mvl.learn.learner import Learner, Parameters
from mvl.learn.loop import over_seeds


def batched_act(learner: Learner, seeds: int, temperature: float) -> Callable[..., Array]:
    """One compiled call for all seeds and episodes: (params, observations, goals, episode numbers, time) -> actions.

    Every episode has its own random key, made from its number and the time, so a stochastic policy plays the same
    episode whatever other episodes are in the batch.
    """

    def one(params: Parameters, state: Array, goal: Array, number: Array, time: Array) -> Array:
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), number), time)
        return learner.act(params, state, goal, key, jnp.asarray(temperature))

    def batch(params: Parameters, states: Array, goals: Array, numbers: Array, time: Array) -> Array:
        return jax.vmap(one, in_axes=(None, 0, 0, 0, None))(params, states, goals, numbers, time)

    return jax.jit(over_seeds(batch, seeds, shared=2))


def as_act(compiled: Callable[..., Array], params: Parameters) -> Act:
    """A policy made by `batched_act` with its parameters bound, on NumPy arrays."""

    def act(observations: np.ndarray, goals: np.ndarray, numbers: np.ndarray, time: int) -> np.ndarray:
        return np.asarray(compiled(params, observations, goals, numbers, time))

    return act


class Planner(Protocol):
    """Chooses the goals to pursue now, for episodes that were begun together."""

    def begin(self, observations: np.ndarray, goals: np.ndarray) -> None: ...

    def subgoals(self, observations: np.ndarray) -> np.ndarray: ...


def planned(act: Act, planners: Sequence[Planner]) -> Act:
    """The same policies, each given sub-goals by its seed's planner instead of the goals."""

    def act_on_plan(observations: np.ndarray, goals: np.ndarray, numbers: np.ndarray, time: int) -> np.ndarray:
        if time == 0:
            for planner, first, goal in zip(planners, observations, goals, strict=True):
                planner.begin(first, goal)
        chosen = [planner.subgoals(states) for planner, states in zip(planners, observations, strict=True)]
        return act(observations, np.stack(chosen), numbers, time)

    return act_on_plan
