"""Short histories: the last observations of an episode side by side, for data that lacks velocities.

Before the start of an episode its first observation is repeated. The functions work on arrays of NumPy and of JAX.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import jax
import numpy as np
from jax import Array

from mvl.data.dataset import Dataset
from mvl.data.memory_map import take

Numbers = TypeVar("Numbers", bound=Any)
"""Arrays of NumPy or JAX."""


def window(rows: Numbers, first_rows: Numbers, count: int) -> Numbers:
    """The numbers of the last `count` rows up to each row, (..., count), none of them before the first row of its episode."""
    numbers: Numbers = (rows[..., None] + np.arange(1 - count, 1)).clip(min=first_rows[..., None])
    return numbers


def side_by_side(frames: Numbers, axes: int) -> Numbers:
    """Frames (..., count, *row) as one row, the oldest first: vectors one after another, images as more channels.

    `axes` is the number of axes of a row: 1 for vectors.
    """
    count = frames.ndim - axes - 1
    moved = frames.transpose((*range(count), *range(count + 1, frames.ndim - 1), count, frames.ndim - 1))
    joined: Numbers = moved.reshape(*moved.shape[:-2], -1)
    return joined


@partial(jax.tree_util.register_dataclass, data_fields=["table", "first_rows"], meta_fields=["count"])
@dataclass(frozen=True)
class HistoryTable:
    """Takes the place of a table: indexed by row numbers, it returns each row with those before it."""

    table: Array  # (rows, ...)
    first_rows: Array  # (rows,) the first row of the same episode
    count: int

    def __getitem__(self, rows: Array) -> Array:
        return side_by_side(self.table[window(rows, self.first_rows[rows], self.count)], self.table.ndim - 1)


def states_at(dataset: Dataset, rows: np.ndarray, count: int) -> np.ndarray:
    """Observations of some rows of a dataset with those before them, (..., count * d)."""
    if count == 1:
        return take(dataset.observations, rows)
    return side_by_side(take(dataset.observations, window(rows, dataset.first_rows[rows], count)), 1)
