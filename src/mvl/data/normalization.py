"""Standardization: observations and goals in units of their standard deviation in the training data."""

from typing import Any, NamedTuple, TypeVar

import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.memory_map import chunks

SPREAD = 1e-6
"""A dimension whose standard deviation is at most this share of its size is constant but for rounding: it is only shifted."""
Numbers = TypeVar("Numbers", bound=Any)
"""Arrays of NumPy or JAX."""


class Moments(NamedTuple):
    """Mean and standard deviation of each dimension of a table; the deviation is 1 where a dimension is constant."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, table: np.ndarray) -> "Moments":
        """The moments of all rows, added up in float64."""
        origin = np.asarray(table[0], np.float64)  # sums of squares around it stay precise far away from zero
        total, squares = np.zeros_like(origin), np.zeros_like(origin)
        for _, part in chunks(table):
            moved = part - origin
            total += moved.sum(axis=0)
            squares += np.square(moved).sum(axis=0)
        shift = total / len(table)
        mean, std = origin + shift, np.sqrt(np.maximum(squares / len(table) - np.square(shift), 0.0))
        constant = std <= SPREAD * np.abs(mean)
        return cls(tuple(mean.tolist()), tuple(np.where(constant, 1.0, std).tolist()))

    def standardized(self, rows: Numbers) -> Numbers:
        """(rows - mean) / std in float32; of a state that is a history, each of its observations."""
        count = rows.shape[-1] // len(self.mean)
        mean, std = (np.tile(np.asarray(numbers, np.float32), count) for numbers in self)
        scaled: Numbers = (rows - mean) / std
        return scaled


class Normalization(NamedTuple):
    """How observations and goals are standardized; a run keeps it, because its networks know no other units."""

    observations: Moments
    goals: Moments

    @classmethod
    def of(cls, train: Dataset) -> "Normalization":
        """From training data; goals that are whole observations are standardized like these."""
        observations = Moments.of(train.observations)
        return cls(observations, observations if train.oracle is None else Moments.of(train.oracle))

    def to_json(self) -> dict[str, Any]:
        return {name: moments._asdict() for name, moments in self._asdict().items()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Normalization":
        return cls(*(Moments(tuple(data[name]["mean"]), tuple(data[name]["std"])) for name in cls._fields))
