"""Goals drawn for transitions: pure functions of a key, sampling from arrays that lie on the device."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.data.dataset import Dataset
from mvl.types import Batch, BatchRequest, GoalMix, Goals, Key, Midpoints, Waypoints, Windows

Table = Any
"""What row numbers index: an array, or something that stands for one (`mvl.data.out_of_core`)."""


class Rows(NamedTuple):
    """A dataset as sampling needs it."""

    observations: Table  # (rows, d)
    actions: Table  # (rows, a)
    goals: Table  # (rows, g) each row as a goal: its observation, or what an oracle says of it
    transitions: Table  # (transitions,) rows that have a successor
    early: Table  # (early,) transitions with a goal still ahead of them
    first_rows: Table  # (rows,) the first row of the same episode
    final_goals: Table  # (rows,) the last row of the same episode that may be a goal


def on_device(dataset: Dataset) -> Rows:
    observations = jnp.asarray(dataset.observations)
    return Rows(
        observations,
        jnp.asarray(dataset.actions),
        observations if dataset.oracle is None else jnp.asarray(dataset.oracle),
        jnp.asarray(dataset.transitions, jnp.int32),
        jnp.asarray(dataset.early, jnp.int32),
        jnp.asarray(dataset.first_rows, jnp.int32),
        jnp.asarray(dataset.final_goals, jnp.int32),
    )


def ahead_geometric(key: Key, rows: Array, final: Array, discount: float) -> Array:
    """min(i + G, last), G geometric on 1, 2, ... with mean 1 / (1 - discount)."""
    return jnp.minimum(rows + jax.random.geometric(key, 1 - discount, rows.shape), final)


def ahead_uniform(key: Key, rows: Array, final: Array) -> Array:
    """Uniform over the rest of the episode, rounded as OGBench: the two outermost rows get half a share each."""
    first = jnp.minimum(rows + 1, final)
    return first + jnp.round(jax.random.uniform(key, rows.shape) * (final - first)).astype(rows.dtype)


def draw_rows(key: Key, rows: Table, count: int) -> Array:
    """Some of the rows, uniformly."""
    return rows[jax.random.randint(key, (count,), 0, rows.shape[0])]


def draw_goal_rows(key: Key, data: Rows, rows: Array, stream: GoalMix, discount: float) -> Array:
    """One goal row for each transition."""
    ahead, anywhere, mix = jax.random.split(key, 3)
    final = data.final_goals[rows]
    later = ahead_geometric(ahead, rows, final, discount) if stream.geometric else ahead_uniform(ahead, rows, final)
    random = draw_rows(anywhere, data.transitions, len(rows))
    share = jax.random.uniform(mix, rows.shape)
    elsewhere = jnp.where(share < stream.current + stream.trajectory, later, random)
    return jnp.where(share < stream.current, rows, elsewhere)


def goals_at(data: Rows, rows: Array, goal_rows: Array) -> Goals:
    """Reached means the very same row: reward 0 and no continuation there, -1 and continuation elsewhere."""
    offsets = goal_rows - rows
    missed = (offsets != 0).astype(jnp.float32)
    return Goals(data.goals[goal_rows], data.observations[goal_rows], -missed, missed, offsets)


def draw_windows(key: Key, data: Rows, count: int) -> Windows:
    """Start, two successive states and end within one episode: start < end, start <= here < end (VIP)."""
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
    """The row some steps ahead; towards a goal ahead in the same episode never beyond it (HIQL)."""
    final = data.final_goals[rows]
    near = jnp.minimum(rows + steps, final)
    onward = jnp.where(goal_rows >= rows, jnp.minimum(near, goal_rows), near)  # a later episode's rows lie beyond `near`
    return Waypoints(data.goals[near], data.goals[onward], data.observations[onward])


def sample(key: Key, data: Rows, count: int, streams: tuple[GoalMix, GoalMix], request: BatchRequest, discount: float) -> Batch:
    """A batch of transitions with a goal from the value's and the actor's stream, drawn independently, and what parts want."""
    pick, for_value, for_actor = jax.random.split(key, 3)
    for_representation, for_windows, for_midpoints = (jax.random.fold_in(key, number) for number in (3, 4, 5))
    rows = draw_rows(pick, data.early if request.midpoints else data.transitions, count)
    value_rows = draw_goal_rows(for_value, data, rows, streams[0], discount)
    actor_rows = draw_goal_rows(for_actor, data, rows, streams[1], discount)
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
    )
