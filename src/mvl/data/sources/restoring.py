"""Files that an import wrote, as a source again: their numbers in the units of the first source, and their names."""

import json
from pathlib import Path

import numpy as np

from mvl.data.signals import Signal, Signals
from mvl.errors import DataError

NOTES = ("action_range", "signals", "origin", "goal_origin")
"""Small arrays that a file may have, about the others."""


def noted(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Those of these arrays that an import wrote: all if `signals` is a text, or else none, as they are somebody's columns."""
    signals = arrays.get("signals")
    return arrays if signals is not None and signals.ndim == 0 and signals.dtype.kind == "U" else {}


def described(text: np.ndarray, path: Path) -> Signals:
    """The signals that the array `signals` of a file describes as JSON."""
    try:
        return Signals.from_json(json.loads(str(text[()])))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: signals cannot be read ({error!r}); correct it, or import the data again.") from None


def restored(columns: dict[str, np.ndarray], notes: dict[str, np.ndarray], path: Path) -> dict[str, np.ndarray]:
    """The columns of a file in the units of the source it was imported from, by the notes in it."""
    found = dict(columns)
    for name, note in (("observations", "origin"), ("goals", "goal_origin")):
        if name in columns and note in notes:
            found[name] = columns[name] + notes[note]
    if "actions" not in columns or not notes:
        return found
    actions = columns["actions"].astype(np.float64)
    if "action_range" in notes:
        low, high = notes["action_range"].astype(np.float64)
        actions = low + (actions + 1) / 2 * (high - low)
    signals = described(notes["signals"], path).actions if "signals" in notes else ()
    for i, levels in enumerate(signal.levels for signal in signals for _ in signal.labels):
        if levels:
            actions[:, i] = np.asarray(levels)[columns["actions"][:, i].astype(int)]
    return {**found, "actions": actions}


def plain(signals: Signals) -> Signals:
    """The signals without levels, which restored numbers have no more; sines and cosines count as numbers of their own."""
    groups = ([_plain(signal) for signal in group] for group in (signals.observations, signals.actions, signals.goals))
    observations, actions, goals = map(tuple, groups)
    return Signals(observations, actions, goals, signals.hz)


def _plain(signal: Signal) -> Signal:
    return signal._replace(levels=(), period=0.0, unit="" if signal.period else signal.unit)
