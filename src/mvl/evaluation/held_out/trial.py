"""A trial: the policies of a run on held-out data. Everything a measure is computed from."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mvl.data.dataset import Dataset
from mvl.data.history import states_at
from mvl.errors import DataError
from mvl.evaluation.held_out.dynamics import Dynamics
from mvl.evaluation.rollout import Act
from mvl.learn.learner import Learner, Parameters

PAIRS = 4000
"""Pairs of a state and a goal that a measure of single states is the mean over."""


class Pairs(NamedTuple):
    """States and goals as rows of the held-out data."""

    states: np.ndarray  # (pairs,)
    goals: np.ndarray  # (pairs,)


@dataclass(frozen=True, eq=False)
class Trial:
    """Trained policies and values of several seeds, and the data that they are judged on."""

    learner: Learner
    params: Parameters
    """With a leading axis for the seeds."""
    act: Act
    """The policies as evaluations call them, with their planners and chunks."""
    held_out: Dataset
    dynamics: Dynamics
    """Learned from the training data."""
    seed: int = 0
    """Of all random draws."""

    @property
    def has_value(self) -> bool:
        return self.learner.recipe.has_surface

    @property
    def seeds(self) -> int:
        """Number of policies."""
        return len(jax.tree.leaves(self.params)[0])

    @cached_property
    def ahead(self) -> Pairs:
        """States and a later state of the same episode as goal, both uniformly drawn."""
        data, random = self.held_out, np.random.default_rng(self.seed)
        if not len(data.early):
            raise DataError(f"{data.source}: every held-out episode has one step only; hold out longer ones.")
        states = random.choice(data.early, PAIRS)
        return Pairs(states, random.integers(states + 1, data.final_goals[states] + 1))

    @cached_property
    def anywhere(self) -> Pairs:
        """States and goals uniformly drawn from all held-out episodes."""
        return Pairs(*np.random.default_rng(self.seed).choice(self.held_out.transitions, (2, PAIRS)))

    def states(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the held-out data as the policy gets them."""
        return states_at(self.held_out, rows, self.learner.recipe.learning.history)

    def goals(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the held-out data as goals."""
        return self.held_out.as_goals(rows)

    def actions(self, pairs: Pairs) -> np.ndarray:
        """The policies' actions, (seeds, pairs, a)."""
        return np.asarray(self._actions(self.params, self.states(pairs.states), self.goals(pairs.goals)))

    def values(self, pairs: Pairs) -> np.ndarray:
        """V(state, goal) of every seed, (seeds, pairs)."""
        return np.asarray(self._values(self.params, self.states(pairs.states), self.goals(pairs.goals)))

    @cached_property
    def _actions(self) -> jax.stages.Wrapped:
        def one(params: Parameters, states: Array, goals: Array) -> Array:
            return self.learner.act(params, states, goals, jax.random.key(self.seed), jnp.zeros(()))

        return jax.jit(jax.vmap(one, in_axes=(0, None, None)))

    @cached_property
    def _values(self) -> jax.stages.Wrapped:
        def one(params: Parameters, states: Array, goals: Array) -> Array:
            return self.learner.values(params, states, goals, jax.random.key(self.seed))

        return jax.jit(jax.vmap(one, in_axes=(0, None, None)))
