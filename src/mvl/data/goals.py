"""Goals drawn for transitions: pure functions of a key, sampling from arrays that lie on the device."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.data.dataset import Dataset
from mvl.types import Batch, Goals, Key, Stream, Windows


class Rows(NamedTuple):
    """A dataset as sampling needs it."""

    observations: Array  # (rows, d)
    actions: Array  # (rows, a)
    transitions: Array  # (transitions,) rows that have a successor
    first_rows: Array  # (rows,) the first row of the same episode
    final_goals: Array  # (rows,) the last row of the same episode that may be a goal


def on_device(dataset: Dataset) -> Rows:
    return Rows(
        jnp.asarray(dataset.observations),
        jnp.asarray(dataset.actions),
        jnp.asarray(dataset.transitions, jnp.int32),
        jnp.asarray(dataset.first_rows, jnp.int32),
        jnp.asarray(dataset.final_goals, jnp.int32),
    )


class Streams(NamedTuple):
    """Everything a batch is to hold besides its transitions."""

    value: Stream
    actor: Stream
    representation: Stream | None = None
    windows: bool = False


def ahead_geometric(key: Key, rows: Array, final: Array, discount: float) -> Array:
    """min(i + G, last), G geometric on 1, 2, ... with mean 1 / (1 - discount)."""
    return jnp.minimum(rows + jax.random.geometric(key, 1 - discount, rows.shape), final)


def ahead_uniform(key: Key, rows: Array, final: Array) -> Array:
    """Uniform over the rest of the episode, rounded as OGBench: the two outermost rows get half a share each."""
    first = jnp.minimum(rows + 1, final)
    return first + jnp.round(jax.random.uniform(key, rows.shape) * (final - first)).astype(rows.dtype)


def draw_rows(key: Key, data: Rows, count: int) -> Array:
    """Rows of transitions, uniformly over the whole dataset."""
    return data.transitions[jax.random.randint(key, (count,), 0, data.transitions.shape[0])]


def draw_goal_rows(key: Key, data: Rows, rows: Array, stream: Stream, discount: float) -> Array:
    """One goal row for each transition."""
    ahead, anywhere, mix = jax.random.split(key, 3)
    final = data.final_goals[rows]
    later = ahead_geometric(ahead, rows, final, discount) if stream.geometric else ahead_uniform(ahead, rows, final)
    random = draw_rows(anywhere, data, len(rows))
    share = jax.random.uniform(mix, rows.shape)
    elsewhere = jnp.where(share < stream.current + stream.trajectory, later, random)
    return jnp.where(share < stream.current, rows, elsewhere)


def goals_at(data: Rows, rows: Array, goal_rows: Array) -> Goals:
    """Reached means the very same row: reward 0 and no continuation there, -1 and continuation elsewhere."""
    missed = (goal_rows != rows).astype(jnp.float32)
    return Goals(data.observations[goal_rows], -missed, missed)


def draw_windows(key: Key, data: Rows, count: int) -> Windows:
    """Start, two successive states and end within one episode: start < end, start <= here < end (VIP)."""
    pick, start_key, end_key, here_key = jax.random.split(key, 4)
    episode = draw_rows(pick, data, count)
    first, final = data.first_rows[episode], data.final_goals[episode]
    start = jax.random.randint(start_key, (count,), first, jnp.maximum(first + 1, final - 1))
    end = jax.random.randint(end_key, (count,), jnp.minimum(start + 1, final), final + 1)
    here = jax.random.randint(here_key, (count,), start, jnp.maximum(start + 1, end))
    there = jnp.minimum(here + 1, end)
    return Windows(*(data.observations[rows] for rows in (start, here, there, end)))


def sample(key: Key, data: Rows, count: int, streams: Streams, discount: float) -> Batch:
    """A batch of transitions with one goal from each stream, drawn independently."""
    pick, for_value, for_actor = jax.random.split(key, 3)
    rows = draw_rows(pick, data, count)

    def goals(key: Key, stream: Stream) -> Goals:
        return goals_at(data, rows, draw_goal_rows(key, data, rows, stream, discount))

    extra = jax.random.fold_in(key, 3), jax.random.fold_in(key, 4)
    return Batch(
        observations=data.observations[rows],
        actions=data.actions[rows],
        next_observations=data.observations[rows + 1],
        value_goals=goals(for_value, streams.value),
        actor_goals=goals(for_actor, streams.actor),
        discount=jnp.asarray(discount),
        representation_goals=goals(extra[0], streams.representation) if streams.representation else None,
        windows=draw_windows(extra[1], data, count) if streams.windows else None,
    )
