"""Sampling of batches with goals: pure functions of a random key and of a dataset's arrays on the device."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.batches import ActionChunk, Batch, BatchRequest, GoalMix, Goals, Midpoints, Waypoints, Windows
from mvl.data.dataset import Dataset
from mvl.data.history import HistoryTable
from mvl.data.normalization import Normalization
from mvl.types import Key

Indexable = Any
"""Indexed by row numbers: an array, or an object that takes its place (`mvl.data.out_of_core`)."""


class Rows(NamedTuple):
    """The arrays of a dataset that sampling needs."""

    observations: Indexable  # (rows, d) states
    actions: Indexable  # (rows, a)
    goals: Indexable  # (rows, g) each row as a goal: its observation, or its oracle goal
    transitions: Indexable  # (transitions,) rows that have a successor
    early: Indexable  # (early,) transitions that have a later goal in their episode
    first_rows: Indexable  # (rows,) the first row of the same episode
    final_goals: Indexable  # (rows,) the last row of the same episode that may be a goal


def on_device(dataset: Dataset, normalization: Normalization | None = None, history: int = 1) -> Rows:
    """Copy a dataset to the default device, standardized if asked for; states consist of the last `history` observations."""
    observations, oracle = dataset.observations, dataset.oracle
    if normalization:
        observations = normalization.observations.standardized(observations)
        oracle = oracle if oracle is None else normalization.goals.standardized(oracle)
    states, first_rows = jnp.asarray(observations), jnp.asarray(dataset.first_rows, jnp.int32)
    return Rows(
        states if history == 1 else HistoryTable(states, first_rows, history),
        jnp.asarray(dataset.actions),
        states if oracle is None else jnp.asarray(oracle),
        jnp.asarray(dataset.transitions, jnp.int32),
        jnp.asarray(dataset.early, jnp.int32),
        first_rows,
        jnp.asarray(dataset.final_goals, jnp.int32),
    )


def ahead_geometric(key: Key, rows: Array, final: Array, discount: float) -> Array:
    """min(i + G, last), G geometric on 1, 2, ... with mean 1 / (1 - discount)."""
    return jnp.minimum(rows + jax.random.geometric(key, 1 - discount, rows.shape), final)


def ahead_uniform(key: Key, rows: Array, final: Array) -> Array:
    """Uniform over the rest of the episode, rounded as OGBench: the two outermost rows get half a share each."""
    first = jnp.minimum(rows + 1, final)
    return first + jnp.round(jax.random.uniform(key, rows.shape) * (final - first)).astype(rows.dtype)


def draw_rows(key: Key, rows: Indexable, count: int) -> Array:
    """`count` of the rows, uniformly with replacement."""
    drawn: Array = rows[jax.random.randint(key, (count,), 0, rows.shape[0])]
    return drawn


def draw_goal_rows(key: Key, data: Rows, rows: Array, mix: GoalMix, discount: float) -> Array:
    """One goal row for each transition, drawn from the mix."""
    ahead, anywhere, share_key = jax.random.split(key, 3)
    final = data.final_goals[rows]
    later = ahead_geometric(ahead, rows, final, discount) if mix.geometric else ahead_uniform(ahead, rows, final)
    random = draw_rows(anywhere, data.transitions, len(rows))
    share = jax.random.uniform(share_key, rows.shape)
    elsewhere = jnp.where(share < mix.current + mix.trajectory, later, random)
    return jnp.where(share < mix.current, rows, elsewhere)


def goals_at(data: Rows, rows: Array, goal_rows: Array) -> Goals:
    """Goals with rewards and masks: both 0 if the goal is the transition's own row, otherwise -1 and 1."""
    offsets = goal_rows - rows
    missed = (offsets != 0).astype(jnp.float32)
    return Goals(data.goals[goal_rows], data.observations[goal_rows], -missed, missed, offsets)


def draw_windows(key: Key, data: Rows, count: int) -> Windows:
    """Start, two successive rows and end within one episode: start < end, start <= here < end (VIP)."""
    pick, start_key, end_key, here_key = jax.random.split(key, 4)
    episode = draw_rows(pick, data.transitions, count)
    first, final = data.first_rows[episode], data.final_goals[episode]
    start = jax.random.randint(start_key, (count,), first, jnp.maximum(first + 1, final - 1))
    end = jax.random.randint(end_key, (count,), jnp.minimum(start + 1, final), final + 1)
    here = jax.random.randint(here_key, (count,), start, jnp.maximum(start + 1, end))
    there = jnp.minimum(here + 1, end)
    return Windows(*(data.goals[rows] for rows in (start, here, there, end)))


def draw_midpoints(key: Key, data: Rows, rows: Array, goal_rows: Array) -> Midpoints:
    """Uniform from the transition itself to the row before its goal."""
    middle = jax.random.randint(key, rows.shape, rows, jnp.maximum(rows + 1, goal_rows))
    return Midpoints(data.observations[middle], data.actions[middle], middle - rows)


def waypoints_at(data: Rows, rows: Array, goal_rows: Array, steps: int) -> Waypoints:
    """The rows `steps` ahead; `onward` does not pass a goal that lies ahead in the same episode (HIQL)."""
    final = data.final_goals[rows]
    near = jnp.minimum(rows + steps, final)
    onward = jnp.where(goal_rows >= rows, jnp.minimum(near, goal_rows), near)  # a later episode's rows lie beyond `near`
    return Waypoints(data.goals[near], data.goals[onward], data.observations[onward])


def chunk_at(data: Rows, rows: Array, goal_rows: Array, steps: int) -> ActionChunk:
    """The actions from these rows on, towards the goals of these rows."""
    taken, last = rows[:, None] + jnp.arange(steps), data.final_goals[rows]  # the last row that has an action
    after = jnp.minimum(rows + steps, last + 1)
    after = jnp.where(goal_rows > rows, jnp.minimum(after, goal_rows), after)  # a later episode's rows lie beyond `after`
    actions = data.actions[jnp.minimum(taken, last[:, None])]
    return ActionChunk(actions, taken <= last[:, None], data.observations[after])


def sample(key: Key, data: Rows, count: int, mixes: tuple[GoalMix, GoalMix], request: BatchRequest, discount: float) -> Batch:
    """A batch of transitions with goals from the mixes of the value and the policy, and with what the parts request."""
    pick, for_value, for_actor = jax.random.split(key, 3)
    for_representation, for_windows, for_midpoints = (jax.random.fold_in(key, number) for number in (3, 4, 5))
    rows = draw_rows(pick, data.early if request.midpoints else data.transitions, count)
    value_rows = draw_goal_rows(for_value, data, rows, mixes[0], discount)
    actor_rows = draw_goal_rows(for_actor, data, rows, mixes[1], discount)
    own_rows = draw_goal_rows(for_representation, data, rows, request.goals, discount) if request.goals else None
    return Batch(
        observations=data.observations[rows],
        actions=data.actions[rows],
        next_observations=data.observations[rows + 1],
        positions=data.goals[rows],
        value_goals=goals_at(data, rows, value_rows),
        actor_goals=goals_at(data, rows, actor_rows),
        discount=jnp.asarray(discount),
        representation_goals=goals_at(data, rows, own_rows) if own_rows is not None else None,
        windows=draw_windows(for_windows, data, count) if request.windows else None,
        midpoints=draw_midpoints(for_midpoints, data, rows, value_rows) if request.midpoints else None,
        waypoints=waypoints_at(data, rows, actor_rows, request.waypoint_steps) if request.waypoint_steps else None,
        chunk=chunk_at(data, rows, _pursued(data, rows, actor_rows, request), request.chunk) if request.chunk > 1 else None,
    )


def _pursued(data: Rows, rows: Array, actor_rows: Array, request: BatchRequest) -> Array:
    """Rows of the goals that actions are logged towards: the waypoints ahead if there are any, otherwise the policy's goals."""
    return jnp.minimum(rows + request.waypoint_steps, data.final_goals[rows]) if request.waypoint_steps else actor_rows
