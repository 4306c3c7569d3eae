"""Goals drawn for transitions: pure functions of a key, sampling from arrays that lie on the device."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.data.dataset import Dataset
from mvl.errors import UsageError
from mvl.types import Batch, Goals, Key


class Rows(NamedTuple):
    """A dataset as sampling needs it."""

    observations: Array  # (rows, d)
    actions: Array  # (rows, a)
    transitions: Array  # (transitions,) rows that have a successor
    final_goals: Array  # (rows,) the last row of the same episode that may be a goal


def on_device(dataset: Dataset) -> Rows:
    return Rows(
        jnp.asarray(dataset.observations),
        jnp.asarray(dataset.actions),
        jnp.asarray(dataset.transitions, jnp.int32),
        jnp.asarray(dataset.final_goals, jnp.int32),
    )


@dataclass(frozen=True)
class Stream:
    """Where the goals of one loss come from; the three shares sum to one."""

    current: float = 0.2
    """Share of goals that are the current state."""
    trajectory: float = 0.5
    """Share of goals from the rest of the same episode."""
    random: float = 0.3
    """Share of goals from anywhere in the data."""
    geometric: bool = True
    """Episode goals lie a geometric number of steps ahead (mean 1 / (1 - discount)), otherwise uniformly."""

    def __post_init__(self) -> None:
        shares = (self.current, self.trajectory, self.random)
        if min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
            raise UsageError(f"goal shares must be at least 0 and sum to 1, not {shares}.")


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


def sample(key: Key, data: Rows, count: int, value: Stream, actor: Stream, discount: float) -> Batch:
    """A batch of transitions with one goal from each stream, drawn independently."""
    pick, for_value, for_actor = jax.random.split(key, 3)
    rows = draw_rows(pick, data, count)
    return Batch(
        observations=data.observations[rows],
        actions=data.actions[rows],
        next_observations=data.observations[rows + 1],
        value_goals=goals_at(data, rows, draw_goal_rows(for_value, data, rows, value, discount)),
        actor_goals=goals_at(data, rows, draw_goal_rows(for_actor, data, rows, actor, discount)),
        discount=jnp.asarray(discount),
    )
