"""A learned model of the data's dynamics: networks that predict what one step changes. It stands in for a simulator."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from mvl.data.dataset import Dataset
from mvl.data.memory_map import take
from mvl.data.normalization import Moments
from mvl.nets.mlp import MLP, apply_ensemble, init_ensemble

HEADS, WIDTHS = 2, (128, 128)
BATCH, RATE = 256, 2e-3
"""Transitions in each step of Adam, and its first learning rate, which falls to zero."""
EPOCHS, FEWEST, MOST = 50, 100, 2000
"""Passes through the data, and the limits of the number of steps that they make."""
ROWS = 100_000
"""Transitions that the model is fitted to, at most."""


class Transitions(NamedTuple):
    """What happened in the data, row by row."""

    observations: np.ndarray  # (rows, d)
    actions: np.ndarray  # (rows, a)
    changes: np.ndarray  # (rows, d) next observation minus observation
    goals: np.ndarray | None  # (rows, g) the next state as a goal, if goals are not whole observations


class Dynamics(NamedTuple):
    """The mean of two networks that predict the change of an observation from the observation and the action.

    Predicted observations stay within the range of the data, as if there were walls around it.
    """

    networks: MLP
    observations: Moments
    actions: Moments
    changes: Moments
    goals: Moments | None
    """None if goals are whole observations."""
    low: np.ndarray  # (d,) smallest observations of the data
    high: np.ndarray  # (d,)

    @property
    def goal_moments(self) -> Moments:
        """Of goals in the training data."""
        return self.observations if self.goals is None else self.goals

    def next(self, observations: Array, actions: Array) -> tuple[Array, Array]:
        """The observations after one step (..., d), and these states as goals (..., g)."""
        inputs = self.observations.standardized(observations), self.actions.standardized(actions)
        predicted = apply_ensemble(self.networks, *inputs).mean(axis=0)
        size = len(self.low)
        change = predicted[..., :size] * np.array(self.changes.std, np.float32) + np.array(self.changes.mean, np.float32)
        after = jnp.clip(observations + change, self.low, self.high)
        if self.goals is None:
            return after, after
        return after, predicted[..., size:] * np.array(self.goals.std, np.float32) + np.array(self.goals.mean, np.float32)


def drawn(data: Dataset, rows: int = ROWS, seed: int = 0) -> Transitions:
    """Transitions of a dataset: all, or as many as given, drawn at random."""
    chosen = data.transitions
    if len(chosen) > rows:
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, rows, replace=False))
    before, after = take(data.observations, chosen), take(data.observations, chosen + 1)
    goals = None if data.oracle is None else take(data.oracle, chosen + 1)
    return Transitions(before, take(data.actions, chosen), after - before, goals)


def fit(data: Dataset, seed: int = 0) -> Dynamics:
    """The model of a dataset; takes some seconds."""
    found = drawn(data)
    moments = Dynamics(
        networks=init_ensemble(jax.random.key(seed), HEADS, *_sizes(found), norm=True),
        observations=Moments.of(found.observations),
        actions=Moments.of(found.actions),
        changes=Moments.of(found.changes),
        goals=None if found.goals is None else Moments.of(found.goals),
        low=found.observations.min(axis=0),
        high=found.observations.max(axis=0),
    )
    targets = [moments.changes.standardized(found.changes)]
    if found.goals is not None and moments.goals is not None:
        targets.append(moments.goals.standardized(found.goals))
    inputs = moments.observations.standardized(found.observations), moments.actions.standardized(found.actions)
    return moments._replace(networks=_trained(moments.networks, inputs, np.concatenate(targets, axis=1), seed))


def _sizes(found: Transitions) -> tuple[int, tuple[int, ...], int]:
    """Inputs, hidden layers and outputs of the networks."""
    outputs = found.changes.shape[1] + (0 if found.goals is None else found.goals.shape[1])
    return found.observations.shape[1] + found.actions.shape[1], WIDTHS, outputs


def _trained(networks: MLP, inputs: Sequence[np.ndarray], targets: np.ndarray, seed: int) -> MLP:
    """The networks after regression on the targets, all in standard units."""
    steps = int(np.clip(EPOCHS * len(targets) / BATCH, FEWEST, MOST))
    adam = optax.adam(optax.cosine_decay_schedule(RATE, steps))
    tables = [jnp.asarray(array, jnp.float32) for array in (*inputs, targets)]

    def loss(params: MLP, rows: Array) -> Array:
        observations, actions, wanted = (table[rows] for table in tables)
        return jnp.square(apply_ensemble(params, observations, actions) - wanted).mean(axis=(1, 2)).sum()

    def step(carry: tuple[MLP, Any], key: Array) -> tuple[tuple[MLP, Any], None]:
        params, moments = carry
        rows = jax.random.randint(key, (BATCH,), 0, len(targets))
        updates, moments = adam.update(jax.grad(loss)(params, rows), moments)
        return (optax.apply_updates(params, updates), moments), None

    train: Callable[..., Any] = jax.jit(lambda carry, keys: jax.lax.scan(step, carry, keys)[0][0])
    trained: MLP = train((networks, adam.init(networks)), jax.random.split(jax.random.key(seed + 1), steps))
    return trained
