"""Generated episodes: what makes them, and the columns they have."""

from typing import NamedTuple, Protocol

import numpy as np


class Size(NamedTuple):
    """Size of a dataset."""

    episodes: int
    rows: int
    """Rows per episode, one more than transitions."""
    validation_episodes: int


class Generator(Protocol):
    """Makes episodes of data with an environment."""

    def episode(self, seed: int) -> dict[str, np.ndarray]:
        """Columns of one episode, a pure function of the seed."""
        ...


def columns_of(rows: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Rows of one episode as arrays, with `terminals` true at the last; floats as float32, as in the published datasets."""
    columns = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    typed = {key: array.astype(np.float32) if array.dtype.kind == "f" else array for key, array in columns.items()}
    return {**typed, "terminals": np.arange(len(rows)) == len(rows) - 1}
