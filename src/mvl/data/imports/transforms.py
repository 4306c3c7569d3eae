"""Changes to imported episodes: pure functions of an episode, which leave the one they are given as it is."""

from collections.abc import Callable, Sequence

import numpy as np

from mvl.data.signals import Dimension, stored
from mvl.data.sources.episodes import Checked

Join = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Actions (rows, a), and the first row and the row after the last of each group to be joined -> one action per group."""


def without(episode: Checked, drop: dict[str, list[int]]) -> Checked:
    """The episode without some dimensions; `drop` has their numbers by kind."""
    kept = {kind: np.delete(getattr(episode, kind), numbers, axis=1) for kind, numbers in drop.items()}
    return episode._replace(**kept)


def total(actions: np.ndarray, first: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Sums over groups of rows: of actions that are differences. A group without rows has the sum 0."""
    sums = np.concatenate([np.zeros((1, actions.shape[1])), np.cumsum(actions, axis=0, dtype=np.float64)])
    difference: np.ndarray = sums[after] - sums[first]
    return difference


def last(actions: np.ndarray, first: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The last of each group of rows: of actions that are positions to go to."""
    chosen: np.ndarray = actions[np.maximum(after - 1, first)]
    return chosen


def mean(actions: np.ndarray, first: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Means over groups of rows: of actions that are velocities."""
    count = (after - first)[:, None]
    return np.asarray(np.where(count > 0, total(actions, first, after) / np.maximum(count, 1), actions[first]))


def initial(actions: np.ndarray, first: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The first of each group of rows: of numbers that describe the row itself."""
    chosen: np.ndarray = actions[first]
    return chosen


def at_rows(episode: Checked, rows: np.ndarray, join: Join, discrete: Sequence[int] = ()) -> Checked:
    """Only these rows, (kept,) in order; the action of one leads to the next, so those of the rows between are joined.

    Discrete dimensions of actions have no sum and no mean: they take the last value.
    """
    after = np.append(rows[1:], len(episode.observations))
    actions = join(episode.actions, rows, after)
    chosen = list(discrete)
    actions[:, chosen] = last(episode.actions, rows, after)[:, chosen]
    goals, time = (None if array is None else array[rows] for array in (episode.goals, episode.time))
    return episode._replace(observations=episode.observations[rows], actions=actions, goals=goals, time=time)


def every_nth(episode: Checked, n: int) -> np.ndarray:
    """Numbers of every n-th row, from the first on."""
    return np.arange(0, len(episode.observations), n)


def ticks(time: np.ndarray, hz: float) -> np.ndarray:
    """For each tick of a steady clock at `hz` that starts with the first row, the number of the row nearest to it."""
    count = int(np.floor((time[-1] - time[0]) * hz + 1e-3)) + 1  # the last row counts although its stamp is rounded
    middles = (time[1:] + time[:-1]) / 2
    return np.asarray(np.searchsorted(middles, time[0] + np.arange(count) / hz, side="left"))


def minus_positions(episode: Checked, positions: dict[int, int], periods: dict[int, float]) -> Checked:
    """Actions that are positions to go to, as differences from the present ones: action[t] - observation[t].

    `positions` has the observation dimension of each such action dimension, `periods` a full turn of each that wraps.
    """
    actions = episode.actions.astype(np.float64)
    for action, observation in positions.items():
        step = actions[:, action] - episode.observations[:, observation]
        actions[:, action] = shortest(step, periods.get(action, 0.0))
    return episode._replace(actions=actions)


def differences(episode: Checked, periods: dict[int, float]) -> Checked:
    """Actions made from positions that were read in their place: the next one minus the present one; 0 in the last row."""
    steps = np.diff(episode.actions.astype(np.float64), axis=0, append=episode.actions[-1:])
    for action, period in periods.items():
        steps[:, action] = shortest(steps[:, action], period)
    return episode._replace(actions=steps)


def shortest(difference: np.ndarray, period: float) -> np.ndarray:
    """Differences of angles, the shorter way around; of other numbers (period 0) as they are."""
    return (difference + period / 2) % period - period / 2 if period else difference


def turned(episode: Checked, observations: Sequence[Dimension], goals: Sequence[Dimension]) -> Checked:
    """Angles of observations and goals that have a period as sine and cosine."""
    told = None if episode.goals is None else stored(episode.goals, goals)
    return episode._replace(observations=stored(episode.observations, observations), goals=told)
