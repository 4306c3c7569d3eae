"""Checks of the arrays that make a dataset; each error names the source, the array and the place in it."""

import numpy as np
from numpy.typing import ArrayLike

from mvl.data.memory_map import chunks
from mvl.data.signals import KINDS, Signals
from mvl.errors import DataError
from mvl.types import ImageShape


def as_numbers(values: ArrayLike, name: str, source: str) -> np.ndarray:
    """The values as float32, (rows, dimensions)."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise DataError(f"{source}: {name} has type {array.dtype}; numbers are needed.")
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"{source}: {name} has shape {array.shape}; (rows, dimensions) is needed.")
    return np.ascontiguousarray(array, dtype=np.float32)


def image_shape(observations: ArrayLike, source: str) -> ImageShape | None:
    """Height, width and channels of observations (rows, height, width, channels) that are images; None for other shapes."""
    array = np.asarray(observations)
    if array.ndim != 4:
        return None
    if array.dtype != np.uint8 or 0 in array.shape[1:]:
        raise DataError(f"{source}: images are bytes, row by row; these have type {array.dtype} and shape {array.shape}.")
    _, height, width, channels = array.shape
    return height, width, channels


def as_rows(images: ArrayLike) -> np.ndarray:
    """Images as rows of bytes, (rows, height width channels); those of a file stay on disk."""
    array = np.asanyarray(images)
    return array.reshape(len(array), -1)


def as_goals(values: ArrayLike, rows: int, source: str) -> np.ndarray:
    """Oracle goals as float32, (rows, g), checked."""
    oracle = as_numbers(values, "oracle", source)
    if len(oracle) != rows:
        raise DataError(f"{source}: oracle has {len(oracle)} rows, observations have {rows}; they must be equal.")
    check_finite(oracle, "oracle", source)
    return oracle


def as_action_range(values: ArrayLike, dimensions: int, source: str) -> np.ndarray:
    """Limits of the original actions as float32, (2, dimensions), checked."""
    limits = as_numbers(values, "action_range", source)
    if limits.shape != (2, dimensions) or not (limits[0] < limits[1]).all():
        raise DataError(f"{source}: action_range must have a lower and a higher number for every action dimension.")
    return limits


def as_origin(values: ArrayLike, of: np.ndarray, name: str, source: str) -> np.ndarray:
    """What was subtracted from an array, as float64, (dimensions,), checked."""
    origin = np.asarray(values)
    if origin.dtype.kind not in "fiu" or origin.shape != of.shape[1:] or not np.isfinite(origin).all():
        raise DataError(f"{source}: {name} must have one finite number for each of {of.shape[1]} dimensions.")
    return origin.astype(np.float64)


def check_signals(signals: Signals, states: np.ndarray, actions: np.ndarray, goals: np.ndarray | None, source: str) -> None:
    """Raise if there is not one name for every dimension."""
    groups = [(signals.observations, states), (signals.actions, actions), (signals.goals, goals)]
    for kind, (group, array) in zip(KINDS, groups, strict=True):
        if not group or array is None:
            continue
        named = sum(len(signal.labels) for signal in group)
        if named != array.shape[1]:
            raise DataError(
                f"{source}: signals names {named} dimensions of {kind}, not the {array.shape[1]} there are; correct it."
            )
        if kind != "actions" and any(signal.levels for signal in group):
            raise DataError(f"{source}: signals gives levels to {kind}, which only actions may have; correct it.")


def level_counts(signals: Signals | None, dimensions: int) -> np.ndarray:
    """How many values each action dimension takes, (dimensions,); 0 if it is continuous."""
    counts = [len(signal.levels) for signal in signals.actions for _ in signal.labels] if signals else []
    return np.array(counts) if len(counts) == dimensions else np.zeros(dimensions, int)


def check_lengths(observations: np.ndarray, actions: np.ndarray, terminals: np.ndarray, source: str) -> None:
    if terminals.ndim != 1:
        raise DataError(f"{source}: terminals has shape {terminals.shape}; one flag per row is needed.")
    if not len(observations) == len(actions) == len(terminals):
        raise DataError(
            f"{source}: observations, actions and terminals have {len(observations)}, {len(actions)} and "
            f"{len(terminals)} rows; they must be equally long."
        )


def check_finite(array: np.ndarray, name: str, source: str) -> None:
    for first, part in chunks(array):
        bad = np.argwhere(~np.isfinite(part))
        if len(bad):
            row, column = bad[0]
            where = f"at row {first + row}, dimension {column}"
            raise DataError(f"{source}: {name} is {part[row, column]} {where}; remove that episode.")


def check_range(actions: np.ndarray, levels: np.ndarray, source: str) -> None:
    """Raise if a continuous action is not in [-1, 1], or a discrete one not the index of a level."""
    for first, part in chunks(actions):
        outside = (np.abs(part) - np.float32(1)) * (levels == 0)
        if outside.max(initial=0.0) > 1e-5:
            row, column = np.argwhere(outside == outside.max())[0]
            raise DataError(
                f"{source}: actions must lie in [-1, 1], but dimension {column} is {part[row, column]:.4g} at row {first + row}; "
                "rescale them."
            )
        for column in np.flatnonzero(levels):
            wrong = np.flatnonzero(~np.isin(part[:, column], np.arange(levels[column])))
            if len(wrong):
                row, most = wrong[0], levels[column] - 1
                raise DataError(
                    f"{source}: action dimension {column} is discrete, a whole number from 0 to {most}, but is "
                    f"{part[row, column]:.4g} at row {first + row}; import the data again."
                )


def check_episodes(ends: np.ndarray, rows: int, source: str) -> None:
    """Raise if the last row does not end an episode, or an episode has one row only."""
    if not len(ends) or ends[-1] != rows - 1:
        raise DataError(f"{source}: the last row does not end an episode; the file may be cut short, or terminals wrong.")
    lengths = np.diff(np.concatenate([[-1], ends]))
    if lengths.min() < 2:
        raise DataError(f"{source}: episode {int(lengths.argmin())} has one row; an episode needs at least two.")
