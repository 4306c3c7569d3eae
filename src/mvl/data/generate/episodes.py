"""What every generator deals in."""

from typing import NamedTuple

import numpy as np


class Size(NamedTuple):
    """Of a published set."""

    episodes: int
    rows: int
    """Per episode, one more than transitions."""
    validation_episodes: int


def columns_of(rows: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Rows of one episode as arrays, with `terminals` true at the last; numbers in the types of the published sets."""
    columns = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    typed = {key: array.astype(np.float32) if array.dtype.kind == "f" else array for key, array in columns.items()}
    return {**typed, "terminals": np.arange(len(rows)) == len(rows) - 1}
