"""Two datasets of the same signals as one, in the units of the first: demonstrations that were recorded later."""

from dataclasses import replace

import numpy as np

from mvl.data.actions import ActionUnits
from mvl.data.dataset import Dataset
from mvl.data.signals import KINDS, dimension_names
from mvl.errors import DataError

SAME_RATE = 0.01
"""Relative difference up to which two rates are the same."""
MOST_CUT = 0.05
"""Largest share of new transitions whose actions may lie outside of the range of the old ones."""


def joined(old: Dataset, new: Dataset) -> Dataset:
    """All episodes of both; raises if the new ones have other dimensions, names, levels or rates."""
    check_alike(old, new)
    ends = np.concatenate([old.ends, len(old.observations) + new.ends])
    goals = None
    if old.oracle is not None and new.oracle is not None:
        goals = np.concatenate([old.oracle, _moved(new.oracle, new.goal_origin, old.goal_origin)])
    return replace(
        old,
        observations=np.concatenate([old.observations, _moved(new.observations, new.origin, old.origin)]),
        actions=np.concatenate([old.actions, np.clip(_scaled(new, old), *_bounds(old))]),
        ends=ends,
        oracle=goals,
        source=f"{old.source} and {new.source}",
    )


def share_cut(old: Dataset, new: Dataset) -> float:
    """Share of the new transitions whose actions lie outside of the range of the old ones, and are cut to it."""
    low, high = _bounds(old)
    actions = _scaled(new, old)[new.transitions]
    return float(((actions < low - 1e-5) | (actions > high + 1e-5)).any(axis=1).mean())


def check_alike(old: Dataset, new: Dataset) -> None:
    """Raise an error that names what differs, if the numbers of both do not mean the same."""
    for kind in KINDS:
        sizes = [_width(dataset, kind) for dataset in (old, new)]
        if sizes[0] != sizes[1]:
            raise DataError(
                f"{new.source}: {kind} have {sizes[1]} dimensions, {old.source} has {sizes[0]}; import the same ones."
            )
    if ActionUnits.of(old).levels != ActionUnits.of(new).levels:
        raise DataError(f"{new.source}: its discrete actions have other levels than {old.source}; import both alike.")
    if old.signals and new.signals:
        for kind in KINDS:
            names = [dimension_names(getattr(signals, kind)) for signals in (old.signals, new.signals)]
            different = [pair for pair in zip(*names, strict=False) if pair[0] != pair[1]]
            if different:
                (before, now), *_ = different
                raise DataError(f"{new.source}: {kind} have {now} where {old.source} has {before}; import the same ones.")
        rates = old.signals.hz, new.signals.hz
        if rates[0] and rates[1] and abs(rates[1] / rates[0] - 1) > SAME_RATE:
            raise DataError(f"{new.source}: {rates[1]:g} Hz, but {old.source} has {rates[0]:g}; import it at the same rate.")
    if (cut := share_cut(old, new)) > MOST_CUT:
        raise DataError(
            f"{new.source}: {cut:.0%} of its actions lie outside of the range of {old.source}; import both at once, train anew."
        )


def _width(dataset: Dataset, kind: str) -> int:
    """Dimensions of observations, actions or goals; 0 for goals that are whole observations."""
    arrays = {"observations": dataset.observations, "actions": dataset.actions, "goals": dataset.oracle}
    array = arrays[kind]
    return 0 if array is None else int(array.shape[1])


def _moved(table: np.ndarray, from_origin: np.ndarray | None, to_origin: np.ndarray | None) -> np.ndarray:
    """A table relative to another origin; None: zero."""
    if from_origin is None and to_origin is None:
        return table
    start, end = (0.0 if origin is None else origin for origin in (from_origin, to_origin))
    return np.asarray(table + (np.asarray(start) - np.asarray(end)), np.float32)


def _scaled(new: Dataset, old: Dataset) -> np.ndarray:
    """The actions of the new data in the scale of the old: -1 and 1 stand for the same; indices of levels stay."""
    limits = [ActionUnits.of(dataset).limits for dataset in (new, old)]
    if limits[0] == limits[1]:
        return new.actions
    width = new.actions.shape[1]
    (low, high), (old_low, old_high) = (np.asarray(given or ((-1.0,) * width, (1.0,) * width), np.float64) for given in limits)
    original = low + (new.actions + 1) / 2 * (high - low)
    reach = np.where(old_high > old_low, old_high - old_low, 1.0)
    counts = np.asarray(ActionUnits.of(old).counts or (0,) * width)
    return np.asarray(np.where(counts > 0, new.actions, 2 * (original - old_low) / reach - 1), np.float32)


def _bounds(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest actions of each dimension: -1 and 1, or the first and last index of a level."""
    counts = np.asarray(ActionUnits.of(dataset).counts or (0,) * dataset.actions.shape[1], np.float32)
    return np.where(counts > 0, 0.0, -1.0).astype(np.float32), np.where(counts > 0, counts - 1, 1.0).astype(np.float32)
