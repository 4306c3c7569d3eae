"""What looks wrong in a dataset that is valid: one function per finding, each at most one line with the flag that mends it."""

from collections.abc import Callable

import numpy as np

from mvl.data.check.roles import positions_as_actions, swapped
from mvl.data.check.subject import View, some
from mvl.data.dataset import Dataset
from mvl.data.signals import dimensions

REACH = 0.25
"""Continuous actions within this share of [-1, 1] are learned badly, since the losses measure errors against all of it."""
WIDE = 200
"""A column with this many dimensions is an image or a scan: robots have fewer joints."""
FEW, ROWS_PER_VALUE = 8, 100
"""An action with at most this many values, and this many rows for each, is a choice and not a number."""
JUMP, AROUND = 20, 5
"""A step this many times longer than the median, and AROUND times longer than the AROUND steps on both sides (their median: who
slows down for a goal begins with long steps), suggests a missing episode boundary."""
STILL = 0.05
"""Share of transitions that may stay where they are: people pause."""
APART = 10
"""Episodes do not meet if their closest states are this many mean steps apart: stitching needs states that they share."""
EPISODES, STATES, OTHERS = 20, 100, 50_000
"""Episodes, states of each, and states of others that these are compared with."""


def looks_wrong(dataset: Dataset) -> list[str]:
    """A line for everything that is probably not intended."""
    view = View(dataset)
    return [line for find in FINDINGS if (line := find(view))]


def constant_observations(view: View) -> str | None:
    names = [name for name, changes in zip(view.observations, view.changing, strict=True) if not changes]
    return f"observations that never change: {some(names)}: leave them out with {flag('--drop', names)}" if names else None


def constant_actions(view: View) -> str | None:
    same = view.data.actions.min(axis=0) == view.data.actions.max(axis=0)
    names = [name for name, constant in zip(view.actions, same, strict=True) if constant]
    return f"actions that never change: {some(names)}: leave them out with {flag('--drop', names)}" if names else None


def duplicates(view: View) -> str | None:
    """Observations that are equal to an earlier one."""
    seen: dict[bytes, int] = {}
    pairs = {}
    for i in np.flatnonzero(view.changing).tolist():
        first = seen.setdefault(view.sample.observations[:, i].tobytes(), i)
        if first != i and np.array_equal(view.data.observations[:, i], view.data.observations[:, first]):
            pairs[view.observations[i]] = view.observations[first]
    text = some(f"{copy} = {first}" for copy, first in pairs.items())
    return f"observations that are there twice: {text}: leave them out with {flag('--drop', list(pairs))}" if pairs else None


def wide(view: View) -> str | None:
    """Columns that are images."""
    signals = view.data.signals
    named = [one.column for one in dimensions(signals.observations)] if signals else []
    columns = named or ["observations"] * len(view.observations)
    counts = {name: columns.count(name) for name in dict.fromkeys(columns)}
    names = [name for name, count in counts.items() if count >= WIDE]
    text = some(f"{name} has {counts[name]}" for name in names)
    way_out = "name others with --observations" if len(names) == len(counts) else f"leave them out with {flag('--drop', names)}"
    return f"columns as wide as a flattened image ({text}): {way_out}" if names else None


def small_actions(view: View) -> str | None:
    """Actions that use a small part of their range."""
    reach = np.abs(view.data.actions).max(axis=0)
    small = view.continuous & (reach < REACH)
    names = [name for name, found in zip(view.actions, small, strict=True) if found]
    return f"{some(names)} reach at most {reach[small].max():.2g} of [-1, 1]: use --rescale" if names else None


def choices(view: View) -> str | None:
    """Continuous actions that take only a few values."""
    found = {}
    for i in np.flatnonzero(view.continuous).tolist():
        if len(np.unique(view.sample.actions[:, i])) <= FEW:
            values = np.unique(view.data.actions[:-1, i])
            if len(values) <= min(FEW, len(view.data.actions) / ROWS_PER_VALUE):
                found[view.actions[i]] = len(values)
    text = some(f"{name} takes {count} values" for name, count in found.items())
    return f"{text}: learn a choice with {flag('--discrete', list(found))}" if found else None


def wrapping(view: View) -> str | None:
    names = {view.observations[i]: turn for i, turn in view.turns.items()}
    text = some(f"{name} jumps by {turn}" for name, turn in names.items())
    return f"angles that wrap ({text}): store sine and cosine with {flag('--wrap', list(names))}" if names else None


def missing_ends(view: View) -> str | None:
    """Steps that are too long to be steps."""
    lengths, episode = view.lengths, view.data.first_rows[view.data.transitions]
    usual = np.median(lengths[lengths > 0]) if lengths.any() else 0.0
    jumps = []
    for jump in np.flatnonzero(lengths > JUMP * usual)[:1000].tolist():  # enough to say so
        around = slice(max(0, jump - AROUND), jump + AROUND + 1)
        if lengths[jump] > AROUND * np.median(lengths[around][episode[around] == episode[jump]]):
            jumps.append(jump)
    if not jumps:
        return None
    first = view.data.transitions[jumps[0]]
    found = f"{len(jumps)} steps over {JUMP} times the median, first at row {first}"
    return f"{found}: an episode end missing? name what tells episodes apart with --episode or --ends"


def standing_still(view: View) -> str | None:
    still = float((view.lengths == 0).mean())
    if still <= STILL:
        return None
    if (rows := view.data.repeats) > 1:
        return f"every observation is there for about {rows} rows, so the rate is too high: use --every {rows}"
    return f"{still:.0%} of the transitions do not move: cut pauses from the episodes"


def apart(view: View) -> str | None:
    """Episodes that never come near each other, so that nothing can be stitched."""
    if len(view.data.ends) < 3 or len(view.observations) > WIDE or not view.lengths.any():
        return None
    distance = float(np.median(closest_approaches(view.data)))
    if distance <= APART:
        return None
    fixed = _fixed_in_episodes(view.data) & view.changing
    names = [name for name, found in zip(view.observations, fixed, strict=True) if found]
    hint = f"--drop what only tells episodes apart ({some(names)})" if names else "record episodes that share states"
    return f"episodes never come near each other (their closest states are {distance:.0f} steps apart), nothing to stitch: {hint}"


def closest_approaches(data: Dataset) -> np.ndarray:
    """For some episodes, the distance of their closest state to one of another episode, in mean steps, (episodes,).

    Dimensions are divided by their standard deviations.
    """
    rows = np.arange(0, len(data.observations), max(1, len(data.observations) // OTHERS))
    std = data.observations[rows].std(axis=0)
    scale = np.where(std > 0, std, 1)
    others, owner = data.observations[rows] / scale, np.searchsorted(data.ends, rows)
    steps: np.ndarray = np.linalg.norm(data.steps[:: max(1, len(data.steps) // OTHERS)] / scale, axis=1)
    found = []
    for episode in np.linspace(0, len(data.ends) - 1, min(EPISODES, len(data.ends))).astype(int):
        states = data.observations[np.linspace(data.starts[episode], data.ends[episode], STATES).astype(int)] / scale
        squares = np.square(states).sum(axis=1)[:, None] + np.square(others).sum(axis=1) - 2 * states @ others.T
        found.append(np.sqrt(squares.min(axis=0)[owner != episode].clip(0).min()))
    return np.array(found) / (steps[steps > 0].mean() if steps.any() else np.inf)


def _fixed_in_episodes(data: Dataset) -> np.ndarray:
    """Which observation dimensions do not change within any episode, (d,)."""
    return np.asarray((data.steps == 0).all(axis=0))


def flag(name: str, columns: list[str]) -> str:
    """A flag with the columns that it is for, as it is typed, unless there are many."""
    quoted = [f"'{column}'" if " " in column else column for column in columns]
    return f"{name} {' '.join(quoted[:6])}{' ...' if len(quoted) > 6 else ''}"


FINDINGS: tuple[Callable[[View], str | None], ...] = (
    wide,
    constant_observations,
    constant_actions,
    duplicates,
    swapped,
    positions_as_actions,
    small_actions,
    choices,
    wrapping,
    missing_ends,
    standing_still,
    apart,
)
