"""Trained policies as the evaluation calls them: one compiled call for all seeds and episodes."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from mvl.evaluation.rollout import Act
from mvl.learn.learner import Learner, Parameters
from mvl.learn.loop import over_seeds
from mvl.planning.following import Follower


def batched_act(learner: Learner, seeds: int, temperature: float):
    """One compiled call for all seeds and episodes: (params, observations, goals, episode numbers, time) -> actions.

    Every episode has its own random key, made from its number and the time, so a policy that draws at random
    gives the same episode in any company.
    """

    def one(params: Parameters, state, goal, number, time):
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), number), time)
        return learner.act(params, state, goal, key, jnp.asarray(temperature))

    def batch(params: Parameters, states, goals, numbers, time):
        return jax.vmap(one, in_axes=(None, 0, 0, 0, None))(params, states, goals, numbers, time)

    return jax.jit(over_seeds(batch, seeds, shared=2))


def as_act(compiled, params: Parameters) -> Act:
    def act(observations: np.ndarray, goals: np.ndarray, numbers: np.ndarray, time: int) -> np.ndarray:
        return np.asarray(compiled(params, observations, goals, numbers, time))

    return act


def planned(act: Act, followers: Sequence[Follower]) -> Act:
    """The same policies, each given sub-goals by its seed's planner instead of the goals."""

    def act_on_plan(observations: np.ndarray, goals: np.ndarray, numbers: np.ndarray, time: int) -> np.ndarray:
        if time == 0:
            for follower, first, goal in zip(followers, observations, goals, strict=True):
                follower.begin(first, goal)
        chosen = [follower.subgoals(states) for follower, states in zip(followers, observations, strict=True)]
        return act(observations, np.stack(chosen), numbers, time)

    return act_on_plan
