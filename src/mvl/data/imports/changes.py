"""What an import is asked to change about episodes, as one function of an episode that is fitted to a sample of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from mvl.checks import COUNT, POSITIVE
from mvl.data.check.lags import following, present_positions
from mvl.data.imports import clock, transforms
from mvl.data.signals import Dimension, Signals, by_kind, dimensions, from_kinds
from mvl.data.sources.episodes import Checked
from mvl.errors import DataError, UsageError, unknown

JOINS: dict[str, transforms.Join] = {
    "delta": transforms.total,
    "position": transforms.last,
    "velocity": transforms.mean,
}
"""How actions of several rows become one, by what an action is."""
MATCHED_ROWS = 20_000
"""Rows by which actions are matched with observations."""
Change = Callable[[Checked], Checked]


@dataclass(frozen=True)
class Changes:
    """What an import changes about the episodes, and what it is told about their columns.

    Names are those of columns or of single dimensions, and may be patterns such as `joint_*`.
    """

    drop: tuple[str, ...] = ()
    """Columns to leave out."""
    every: int = 1
    """Keep every n-th row; the actions of the rows between are joined."""
    hz: float | None = None
    """Rows per second: with time stamps, the rows nearest to a steady clock of this rate are kept; without, it is noted."""
    action_is: str = ""
    """What an action is, if rows are joined: a delta (they are summed), a position (the last) or a velocity (the mean)."""
    deltas: bool = False
    """Turn actions that are positions to go to into differences from the present position."""
    actions_from: tuple[str, ...] = ()
    """Columns of positions whose differences are the actions, where none were recorded."""
    wrap: tuple[str, ...] = ()
    """Angles of observations and goals to store as sine and cosine."""
    discrete: tuple[str, ...] = ()
    """Actions with few values to be learned as a choice between them."""
    continuous: tuple[str, ...] = ()
    """Actions with two values that are not to be learned as a choice."""
    units: tuple[tuple[str, str], ...] = ()
    """Names with their units."""

    def __post_init__(self) -> None:
        COUNT.check(every=self.every)
        POSITIVE.check(hz=self.hz)
        if self.action_is and self.action_is not in JOINS:
            raise unknown("kind of action", self.action_is, JOINS)
        if self.deltas and self.actions_from:
            raise UsageError("--deltas changes actions and --actions-from replaces them; give one of the two.")
        if self.action_is and (self.deltas or self.actions_from or (self.every == 1 and self.hz is None)):
            raise UsageError("--action-is says how --every or --hz join actions; it is only needed with one of them.")


UNCHANGED = Changes()
"""Nothing is changed, and nothing is said."""


class Changed(NamedTuple):
    """A change to every episode, and the signals after it."""

    change: Change
    signals: Signals


class Prepared(NamedTuple):
    """What is done to every episode, the signals afterwards, and what looked wrong, one line each."""

    change: Change
    signals: Signals
    notes: tuple[str, ...]


def prepare(asked: Changes, signals: Signals, sample: Sequence[Checked], clock_name: str) -> Prepared:
    """Everything that is done to the episodes of a source before they are stored; `sample` are the first of them."""
    unit = dict(asked.units).get(clock_name, "")
    signals = with_units(signals, [(name, text) for name, text in asked.units if name != clock_name])
    timed = partial(_in_seconds, second=clock.seconds(unit))
    sample = [timed(episode) for episode in sample]
    times = [episode.time for episode in sample if episode.time is not None]
    if times and asked.hz:
        clock.check_rate(times, clock_name, asked.hz)
    notes = clock.looks_wrong(times, clock_name) if times and asked.hz is None else []
    hz = (None if times else asked.hz) or signals.hz or (clock.rate(times) if times else None)
    done = fitted(asked, signals._replace(hz=hz), sample)
    return Prepared(lambda episode: done.change(timed(episode)), done.signals, tuple(notes))


def _in_seconds(episode: Checked, second: float) -> Checked:
    return episode if episode.time is None else episode._replace(time=episode.time * second)


def fitted(asked: Changes, signals: Signals, sample: Sequence[Checked]) -> Changed:
    """The whole change, in the order of the steps; `sample` are the first episodes, and each step sees it as it then is."""
    changes: list[Change] = []
    for step in (_without_columns, _fewer_rows, _as_deltas, _as_sines):
        done = step(asked, signals, sample)
        if done is not None:
            signals, sample = done.signals, [done.change(episode) for episode in sample]
            changes.append(done.change)
    return Changed(lambda episode: reduce(lambda so_far, change: change(so_far), changes, episode), signals)


def chosen(names: Sequence[str], among: Sequence[Dimension]) -> list[int]:
    """Numbers of the dimensions that a name or a pattern stands for, by their column or label."""
    return [i for i, one in enumerate(among) if any(_means(name, one.column) or _means(name, one.label) for name in names)]


def _means(name: str, text: str) -> bool:
    return name == text or fnmatchcase(text, name)


def check_names(flag: str, names: Sequence[str], among: Sequence[Dimension]) -> None:
    """Raise if a name stands for no dimension."""
    for name in names:
        if not chosen([name], among):
            raise unknown(f"column for {flag}", name, {text for one in among for text in (one.column, one.label)})


def with_units(signals: Signals, units: Sequence[tuple[str, str]]) -> Signals:
    """The signals with units for some columns."""
    groups = by_kind(signals)
    check_names("--unit", [name for name, _ in units], [one for group in groups.values() for one in group])
    for name, unit in units:
        for group in groups.values():
            for i in chosen([name], group):
                group[i] = group[i]._replace(unit=unit)
    return from_kinds(groups, signals.hz)


def _without_columns(asked: Changes, signals: Signals, sample: Sequence[Checked]) -> Changed | None:
    if not asked.drop:
        return None
    groups = by_kind(signals)
    check_names("--drop", asked.drop, [one for group in groups.values() for one in group])
    numbers = {kind: chosen(asked.drop, group) for kind, group in groups.items() if group}
    for kind, dropped in numbers.items():
        if len(dropped) == len(groups[kind]):
            raise UsageError(f"--drop {' '.join(asked.drop)} leaves no {kind}; keep some.")
        groups[kind] = [one for i, one in enumerate(groups[kind]) if i not in dropped]
    return Changed(partial(transforms.without, drop=numbers), from_kinds(groups, signals.hz))


def _fewer_rows(asked: Changes, signals: Signals, sample: Sequence[Checked]) -> Changed | None:
    """Every n-th row, or those nearest to a steady clock."""
    timed = asked.hz is not None and sample[0].time is not None
    if timed and asked.every > 1:
        raise UsageError("--every and, for data with time stamps, --hz choose the rows to keep; give one of the two.")
    if not timed and asked.every == 1:
        return None
    held = _choices(asked, dimensions(signals.actions), sample, 1)
    change = lambda episode: _thinned(episode, _rows(episode, asked), asked, held)
    hz = asked.hz if asked.hz or not signals.hz else signals.hz / asked.every
    return Changed(change, signals._replace(hz=hz))


def _rows(episode: Checked, asked: Changes) -> np.ndarray:
    if asked.hz is None or episode.time is None:
        return transforms.every_nth(episode, asked.every)
    return transforms.ticks(episode.time, asked.hz)


def _thinned(episode: Checked, rows: np.ndarray, asked: Changes, held: list[int]) -> Checked:
    if np.array_equal(rows, np.arange(len(episode.observations))):
        return episode
    if len(rows) < 2:
        count = len(episode.observations)
        raise DataError(f"an episode of {count} rows keeps {len(rows)}, but needs two; keep more, or leave it out.")
    return transforms.at_rows(episode, rows, _join(asked), held)


def _join(asked: Changes) -> transforms.Join:
    if asked.actions_from:
        return transforms.initial
    if asked.deltas:
        return transforms.last
    if asked.action_is:
        return JOINS[asked.action_is]
    raise UsageError(
        "the actions of several rows become one: say with --action-is if they are a delta (they are summed), "
        "a position (the last is taken) or a velocity (the mean)."
    )


def _as_deltas(asked: Changes, signals: Signals, sample: Sequence[Checked]) -> Changed | None:
    """Differences instead of positions, as actions."""
    groups = by_kind(signals)
    if asked.actions_from:
        changed = set(range(len(groups["actions"])))
        turns = _periods(asked, groups["actions"], [episode.actions for episode in sample])
        change = partial(transforms.differences, periods=dict(enumerate(turns)))
    elif asked.deltas:
        positions = _positions(asked, groups, sample)
        changed, turns = set(positions), _periods(asked, groups["observations"], [one.observations for one in sample])
        periods = {action: turns[observation] for action, observation in positions.items()}
        change = partial(transforms.minus_positions, positions=positions, periods=periods)
    else:
        return None
    for i in changed:
        groups["actions"][i] = groups["actions"][i]._replace(label=f"delta {groups['actions'][i].label}")
    return Changed(change, from_kinds(groups, signals.hz))


def _positions(asked: Changes, groups: dict[str, list[Dimension]], sample: Sequence[Checked]) -> dict[int, int]:
    """For each action that is a position, the observation dimension with the present one; choices stay as they are."""
    observations, actions = (np.concatenate([getattr(one, kind) for one in sample]) for kind in ("observations", "actions"))
    ends = np.cumsum([len(one.actions) for one in sample]) - 1
    rows = int(ends[np.searchsorted(ends, min(MATCHED_ROWS, ends[-1]))]) + 1
    found = following(observations[:rows], actions[:rows], ends[ends < rows], np.zeros(observations.shape[1], bool))
    labels = {kind: [one.label for one in group] for kind, group in groups.items()}
    return present_positions(found, labels["observations"], labels["actions"], _choices(asked, groups["actions"], sample, 2))


def _choices(asked: Changes, actions: Sequence[Dimension], sample: Sequence[Checked], fewest: int) -> list[int]:
    """Action dimensions that are choices: those that are named, and those with `fewest` to two values in the sample."""
    values = np.concatenate([episode.actions[:-1] for episode in sample])
    few = {i for i, column in enumerate(values.T) if fewest <= len(np.unique(column)) <= 2}
    return sorted((few | set(chosen(asked.discrete, actions))) - set(chosen(asked.continuous, actions)))


def _as_sines(asked: Changes, signals: Signals, sample: Sequence[Checked]) -> Changed | None:
    """Angles of observations and goals as sine and cosine."""
    if not asked.wrap:
        return None
    groups = by_kind(signals)
    check_names("--wrap", asked.wrap, groups["observations"] + groups["goals"])
    for kind, arrays in (("observations", [one.observations for one in sample]), ("goals", [one.goals for one in sample])):
        periods = _periods(asked, groups[kind], [array for array in arrays if array is not None])
        groups[kind] = [one._replace(period=period) for one, period in zip(groups[kind], periods, strict=True)]
    change = partial(transforms.turned, observations=groups["observations"], goals=groups["goals"])
    return Changed(change, from_kinds(groups, signals.hz))


def _periods(asked: Changes, among: Sequence[Dimension], arrays: Sequence[np.ndarray]) -> list[float]:
    """A full turn of each dimension that is an angle to wrap, by its unit or its range; 0 of the others."""
    periods = [0.0] * len(among)
    for i in chosen(asked.wrap, among):
        unit = among[i].unit.lower()
        extent = max(array[:, i].max() for array in arrays) - min(array[:, i].min() for array in arrays)
        degrees = unit.startswith(("deg", "°")) or (not unit and extent > 4 * np.pi)
        periods[i] = 360.0 if degrees else 2 * np.pi
    return periods
