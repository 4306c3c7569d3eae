"""The shape of a value on held-out data: slopes per dimension, values along episodes, and how clear its advantages are.

They show why a regularizer helps or harms: whether it flattens dimensions that matter, and whether the value still tells steps
towards a goal from others. No simulator is needed.
"""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.history import states_at
from mvl.errors import UsageError
from mvl.learn.learner import Learner, Parameters
from mvl.runs.data import data_of
from mvl.runs.restore import restore

PAIRS = 2000
"""Pairs of a state and a goal of the same episode, for each distance."""
DISTANCES = (1, 2, 5, 10, 20, 50, 100, 200)
"""Steps between a state and its goal, as far as episodes are long enough."""


class Shape(NamedTuple):
    """Measures of the value of a run's first seed."""

    slopes: np.ndarray  # (pairs, d) |dV/ds_i| by the last observation, at states of the data, for goals at all distances
    distances: np.ndarray  # (distances,) steps from the states to their goals
    values: np.ndarray  # (distances, 3) quartiles of V(s, g)
    signal: np.ndarray  # (distances,) mean of the advantage V(s', g) - V(s, g) of a logged step towards the goal
    noise: np.ndarray  # (distances,) its standard deviation

    @property
    def clarity(self) -> np.ndarray:
        """Signal divided by noise: how well one step towards the goal can be told from any other."""
        ratio: np.ndarray = self.signal / np.maximum(self.noise, 1e-12)
        return ratio


def shape_of(run: Path | str, data: Dataset | None = None) -> Shape:
    """The shape of a run's value on its held-out data."""
    description, learner, state = restore(run)
    if not learner.recipe.has_surface:
        raise UsageError(f"{run}: {description.experiment.recipe_name} learns no value; choose a run of a recipe that does.")
    _, held_out = data_of(description, data, run)
    params = jax.tree.map(lambda leaf: leaf[0], state.params)
    return measure(learner, params, held_out, learner.recipe.learning.history)


def measure(learner: Learner, params: Parameters, data: Dataset, history: int = 1, seed: int = 0) -> Shape:
    random, key = np.random.default_rng(seed), jax.random.key(seed)
    value = jax.jit(lambda states, goals: learner.values(params, states, goals, key))
    slope = jax.jit(jax.grad(lambda states, goals: learner.values(params, states, goals, key).sum()))
    ahead = data.final_goals[data.transitions] - data.transitions
    distances = np.array([distance for distance in DISTANCES if distance <= ahead.max()])
    if not len(distances):
        raise UsageError(f"{data.source}: no episode has a goal one step ahead; hold out longer episodes.")
    found: dict[str, list[Any]] = {"slopes": [], "values": [], "signal": [], "noise": []}
    for distance in distances:
        rows = random.choice(data.transitions[ahead >= distance], PAIRS)
        goals = (data.observations if data.oracle is None else data.oracle)[rows + distance]
        states, following = (states_at(data, each, history) for each in (rows, rows + 1))
        here = np.asarray(value(states, goals))
        advantage = np.asarray(value(following, goals)) - here
        found["slopes"].append(np.abs(slope(states, goals))[:, -data.observations.shape[1] :])
        found["values"].append(np.quantile(here, (0.25, 0.5, 0.75)))
        found["signal"].append(advantage.mean())
        found["noise"].append(advantage.std())
    slopes = np.concatenate(found.pop("slopes"))
    return Shape(slopes, distances, *(np.array(column) for column in found.values()))
