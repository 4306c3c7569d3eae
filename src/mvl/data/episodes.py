"""Generated episodes: the interface of a generator, and the conversion of rows to columns."""

from typing import NamedTuple, Protocol

import numpy as np


class Size(NamedTuple):
    """Size of a dataset."""

    episodes: int
    rows: int
    """Rows per episode, one more than transitions; 0 if episodes differ."""
    validation_episodes: int


class Generator(Protocol):
    """Generates episodes of data with an environment."""

    def episode(self, seed: int) -> dict[str, np.ndarray]:
        """Columns of one episode, a pure function of the seed."""
        ...


def columns_of(rows: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Rows of one episode as arrays by column name; `terminals` is true at the last row. Floats become float32, as published."""
    columns = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    typed = {key: array.astype(np.float32) if array.dtype.kind == "f" else array for key, array in columns.items()}
    return {**typed, "terminals": np.arange(len(rows)) == len(rows) - 1}
