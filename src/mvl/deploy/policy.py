"""Trained policies from run folders: act(observation, goal)."""

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from mvl.errors import UsageError
from mvl.learn.learner import Learner, Parameters
from mvl.recipes.presets import PlannerName
from mvl.runs.restore import restore
from mvl.types import Shapes

if TYPE_CHECKING:
    from mvl.planning.following import Follower


class LoadedPolicy:
    """A trained policy; its random draws are seeded, so the same calls in the same order give the same actions."""

    def __init__(
        self,
        learner: Learner,
        params: Parameters,
        seed: int = 0,
        action_range: list[list[float]] | None = None,
        follower: "Follower | None" = None,
    ) -> None:
        self.shapes: Shapes = learner.shapes
        self._params, self._key = params, jax.random.key(seed)
        self._range = None if action_range is None else np.asarray(action_range, np.float32)
        self._act = jax.jit(learner.act)
        self._values = jax.jit(learner.values)
        self._follower = follower
        self._planned_for: np.ndarray | None = None

    def act(self, observation: np.ndarray, goal: np.ndarray, temperature: float = 0.0) -> np.ndarray:
        """Actions (..., a) for observations (..., d) and goals (..., g), or for one of each.

        They are in [-1, 1], or in the units of the data if its actions were rescaled when it was imported. A policy that
        plans remembers its path: each row is an episode, and a new plan is made when the goals change, or after `reset`.
        """
        observation, goal = self._checked(observation, goal)
        if self._follower:
            goal = self._subgoal(self._follower, observation, goal)
        self._key, key = jax.random.split(self._key)
        action = np.asarray(self._act(self._params, observation, goal, key, jnp.asarray(temperature)))
        if self._range is None:
            return action
        low, high = self._range
        scaled: np.ndarray = low + (action + 1) / 2 * (high - low)
        return scaled

    def value(self, observation: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """V(observation, goal) (...,): minus the discounted number of steps from the observation to the goal."""
        return np.asarray(self._values(self._params, *self._checked(observation, goal), self._key))

    @property
    def reachable(self) -> bool:
        """Whether the planner knows a path to the last goal of each row; true for a policy that does not plan."""
        return self._follower is None or self._planned_for is None or bool(self._follower.reachable.all())

    def reset(self) -> None:
        """Forget the path to the last goal, because a new episode begins."""
        self._planned_for = None

    def copy(self) -> "LoadedPolicy":
        """The same policy with a state of its own (path and random draws), for an episode that is played at the same time."""
        other = copy(self)
        other._follower = copy(self._follower)
        other.reset()
        return other

    def _subgoal(self, follower: "Follower", observation: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """The goal to pursue now, for every row."""
        shape = np.broadcast_shapes(observation.shape[:-1], goal.shape[:-1])
        states = np.broadcast_to(observation, (*shape, observation.shape[-1])).reshape(-1, observation.shape[-1])
        goals = np.broadcast_to(goal, (*shape, goal.shape[-1])).reshape(-1, goal.shape[-1])
        if self._planned_for is None or not np.array_equal(self._planned_for, goals):
            follower.begin(states, goals)
            self._planned_for = goals.copy()
        return follower.subgoals(states).reshape(*shape, -1)

    def _checked(self, observation: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both as finite float32 arrays of the expected sizes; anything else is refused."""
        pair = []
        for name, array, size in (("observation", observation, self.shapes.observation), ("goal", goal, self.shapes.goal)):
            array = np.asarray(array, np.float32)
            if array.ndim == 0 or array.shape[-1] != size:
                raise UsageError(f"{name} has shape {array.shape}; its last axis must have length {size}.")
            if not np.isfinite(array).all():
                raise UsageError(f"{name} has a value that is not finite; give finite numbers.")
            pair.append(array)
        return pair[0], pair[1]


def load_policy(run: Path | str, seed: int | None = None, plan: PlannerName | None = None) -> LoadedPolicy:
    """The policy of a run's last checkpoint; `seed` chooses one of several trained together (by default the first).

    `plan="graph"` gives it sub-goals on shortest paths over states of the data; by default it plans if the run's evaluations do.
    """
    description, learner, state = restore(run)
    chosen = description.experiment.seeds[0] if seed is None else seed
    if chosen not in description.experiment.seeds:
        raise UsageError(f"{run} has seeds {', '.join(map(str, description.experiment.seeds))}, not {chosen}.")
    index = description.experiment.seeds.index(chosen)
    params = jax.tree.map(lambda leaf: leaf[index], state.params)
    follower = None
    if (plan or description.experiment.schedule.plan) != "none":
        from mvl.runs.planning import followers, planner_of

        graph = planner_of(description.experiment.schedule, plan)
        follower = followers(Path(run), description, learner, state, graph)[index] if graph else None
    return LoadedPolicy(learner, params, action_range=description.data.get("action_range"), follower=follower)
