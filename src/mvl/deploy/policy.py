"""Trained policies from run folders: act(observation, goal)."""

from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from mvl.data.actions import ActionUnits
from mvl.data.inputs import Inputs
from mvl.data.signals import Signals
from mvl.errors import UsageError
from mvl.learn.execution import EXECUTIONS, Recent
from mvl.learn.learner import Learner, Parameters
from mvl.recipes.presets import ExecutionName, PlannerName
from mvl.runs.restore import chosen_seed, restore
from mvl.types import Shapes

if TYPE_CHECKING:
    from mvl.planning.following import Follower


Given = ArrayLike | Mapping[str, ArrayLike]
"""An observation or a goal in the units of the source: an array, or its parts by name."""


class LoadedPolicy:
    """A trained policy, as `load_policy` makes it: `act(observation, goal)` is the next action.

    It remembers what belongs to an episode (the path of a plan, a chunk under way, earlier observations), so call `reset` when
    a new one begins. Its random draws are seeded: the same calls in the same order give the same actions.
    """

    def __init__(
        self,
        learner: Learner,
        params: Parameters,
        seed: int = 0,
        units: ActionUnits | None = None,
        follower: "Follower | None" = None,
        execute: ExecutionName = "open",
        inputs: Inputs | None = None,
    ) -> None:
        self.shapes: Shapes = learner.shapes
        self._inputs = inputs or Inputs()
        self._params, self._key = params, jax.random.key(seed)
        self._units = units or ActionUnits()
        self._answer, self._head = jax.jit(learner.answer), learner.head
        self._execution, self._recent = EXECUTIONS[execute](self._head.chunk), Recent(learner.recipe.learning.history)
        self._values = jax.jit(learner.values)
        self._follower = follower
        self._goals: np.ndarray | None = None  # (rows, g) that are pursued

    @property
    def signals(self) -> Signals | None:
        """Names and units of observations, actions and goals, and the rate; None if the data had none."""
        return self._inputs.signals

    def act(self, observation: Given, goal: Given, temperature: float = 0.0) -> np.ndarray:
        """Actions (..., a) for observations (..., d) and goals (..., g), or for one of each.

        Both are in the units of the source, as arrays or by the names of their parts: `{"joint_positions": ..., "gripper": ...}`.
        Actions are in the units of the source if they were rescaled or discrete, otherwise in [-1, 1]. A policy that
        plans, or answers chunks of actions, remembers: each row is an episode, and it plans and asks its network anew when
        the goals change, or after `reset`. With a history of k, it remembers the observations of earlier calls until `reset`;
        or give them all, (..., k d).
        """
        observation, goal = self._pursued(*self._checked(observation, goal))
        return self._original(self._execution.next(lambda: self._asked(observation, goal, temperature)))

    def act_chunk(self, observation: Given, goal: Given, temperature: float = 0.0) -> np.ndarray:
        """All actions that the policy answers now, (..., steps, a), in the units of `act`, whose own chunk goes on."""
        return self._original(self._asked(*self._pursued(*self._checked(observation, goal)), temperature))

    def _asked(self, observation: np.ndarray, goal: np.ndarray, temperature: float) -> np.ndarray:
        """The network's answer: chunks of actions as vectors, (..., steps, a)."""
        self._key, key = jax.random.split(self._key)
        return np.asarray(self._answer(self._params, observation, goal, key, jnp.asarray(temperature)))

    def _original(self, vectors: np.ndarray) -> np.ndarray:
        return self._units.original(self._head.actions_of(vectors))

    def value(self, observation: Given, goal: Given) -> np.ndarray:
        """V(observation, goal) (...,): minus the discounted number of steps from the observation to the goal."""
        return np.asarray(self._values(self._params, *self._checked(observation, goal), self._key))

    @property
    def reachable(self) -> bool:
        """Whether the planner knows a path to the last goal of each row; true for a policy that does not plan."""
        return self._follower is None or self._goals is None or bool(self._follower.reachable.all())

    def reset(self) -> None:
        """Forget the path to the last goal, the actions under way and earlier observations, because a new episode begins."""
        self._goals = None
        self._execution.reset()
        self._recent.reset()

    def copy(self) -> "LoadedPolicy":
        """The same policy with a state of its own (path, chunk, history, draws), for another episode at the same time."""
        other = copy(self)
        for name in ("_follower", "_execution", "_recent"):
            setattr(other, name, copy(getattr(self, name)))
        other.reset()
        return other

    def _pursued(self, observation: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The states, with their history, and the goals to pursue now: those given, or sub-goals of a plan."""
        if observation.shape[-1] < self.shapes.observation:
            observation = self._recent.add(observation)
        shape = np.broadcast_shapes(observation.shape[:-1], goal.shape[:-1])
        states = np.broadcast_to(observation, (*shape, observation.shape[-1])).reshape(-1, observation.shape[-1])
        goals = np.broadcast_to(goal, (*shape, goal.shape[-1])).reshape(-1, goal.shape[-1])
        if self._goals is None or not np.array_equal(self._goals, goals):
            self._execution.reset()
            self._goals = goals.copy()
            if self._follower:
                self._follower.begin(states, goals)
        return observation, self._follower.subgoals(states).reshape(*shape, -1) if self._follower else goal

    def _checked(self, observation: Given, goal: Given) -> tuple[np.ndarray, np.ndarray]:
        """Both as finite float32 arrays of the expected sizes; anything else is refused."""
        pair = []
        single = self.shapes.observation // self._recent.count
        for name, given, size in (("observation", observation, single), ("goal", goal, self.shapes.goal)):
            array = self._inputs.vector(given, name)
            if self.shapes.image and array.shape[-3:] == self.shapes.image:
                array = array.reshape(*array.shape[:-3], -1)
            whole = name == "observation" and array.shape[-1:] == (self.shapes.observation,)
            if (array.ndim == 0 or array.shape[-1] != size) and not whole:
                raise UsageError(f"{name} has shape {array.shape}; its last axis must have length {size}.")
            if not np.isfinite(array).all():
                raise UsageError(f"{name} has a value that is not finite; give finite numbers.")
            pair.append(array)
        return pair[0], pair[1]


def load_policy(
    run: Path | str, seed: int | None = None, plan: PlannerName | None = None, execute: ExecutionName | None = None
) -> LoadedPolicy:
    """The policy of a run's last checkpoint.

    Args:
        run: Folder of the run.
        seed: Which of several seeds that were trained together; by default the first.
        plan: "graph" gives the policy sub-goals on shortest paths over states of the data, "none" does not; by default as in
            the run's evaluations.
        execute: How chunks of actions are executed: "open", all of them and then the next, or "blended", a new one at every
            step, averaged with earlier ones.

    Returns:
        The policy, which acts on observations and goals in the units of the data.

    Examples:
        >>> policy = mvl.load_policy("runs/mine", plan="graph")
        >>> action = policy.act(observation, goal)
    """
    description, learner, state = restore(run)
    index = chosen_seed(run, description, seed)
    params = jax.tree.map(lambda leaf: leaf[index], state.params)
    follower = None
    if (plan or description.experiment.schedule.plan) != "none":
        from mvl.runs.planning import followers, planner_of

        graph = planner_of(description.experiment.schedule, plan)
        follower = followers(Path(run), description, learner, state, graph)[index] if graph else None
    way = execute or description.experiment.schedule.execute
    units, inputs = description.action_units, description.inputs
    return LoadedPolicy(learner, params, units=units, follower=follower, execute=way, inputs=inputs)
