"""Out-of-core data: row numbers are sampled on the device, and the rows are read on the host.

Sampling (`mvl.data.goals`) is the same as for data on the device: it indexes tables. Here a table returns a request for the
rows, and `look_up` replaces the requests by the rows, from arrays in memory or in memory-mapped files.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mvl.batches import Batch
from mvl.data.dataset import Dataset
from mvl.data.goals import Rows
from mvl.data.history import side_by_side, window
from mvl.data.memory_map import take
from mvl.data.normalization import Moments, Normalization

Drawn = TypeVar("Drawn", Batch, list[Batch])


@partial(jax.tree_util.register_dataclass, data_fields=["rows"], meta_fields=["table", "joined"])
@dataclass(frozen=True)
class RowRequest:
    """A request for rows of a table, given by number."""

    table: str
    rows: Array
    joined: bool = False
    """Whether the rows along the last axis of `rows` are the history of one state."""


@dataclass(frozen=True)
class RequestTable:
    """Takes the place of a table: indexing it with row numbers returns a request for these rows."""

    table: str

    def __getitem__(self, rows: Array) -> RowRequest:
        return RowRequest(self.table, rows)


@dataclass(frozen=True)
class HistoryRequestTable:
    """Takes the place of a `HistoryTable`: returns a request for rows with those before them."""

    table: str
    first_rows: "PerEpisode"
    count: int

    def __getitem__(self, rows: Array) -> RowRequest:
        return RowRequest(self.table, window(rows, self.first_rows[rows], self.count), joined=True)


@dataclass(frozen=True)
class NthRow:
    """Takes the place of the list of all rows except the last `excluded` of each episode: element n is computed."""

    counts: Array  # (episodes,) how many such rows there are up to the end of each episode
    excluded: int

    @classmethod
    def of(cls, lengths: np.ndarray, excluded: int) -> "NthRow":
        return cls(jnp.asarray(np.cumsum(lengths - excluded), jnp.int32), excluded)

    def __getitem__(self, numbers: Array) -> Array:
        return numbers + self.excluded * jnp.searchsorted(self.counts, numbers, side="right").astype(jnp.int32)

    @property
    def shape(self) -> tuple[Array]:
        return (self.counts[-1],)


@dataclass(frozen=True)
class PerEpisode:
    """Takes the place of an array (rows,) that has the same number at all rows of an episode."""

    ends: Array  # (episodes,)
    numbers: Array  # (episodes,)

    def __getitem__(self, rows: Array) -> Array:
        return self.numbers[jnp.searchsorted(self.ends, rows)]


class Mapped(NamedTuple):
    """A dataset whose rows are read on the host."""

    rows: Rows
    """What sampling needs, with tables that return requests."""
    tables: dict[str, np.ndarray]
    moments: dict[str, Moments] = {}
    """Of the tables whose rows are standardized after they are read."""

    @classmethod
    def of(cls, dataset: Dataset, normalization: Normalization | None = None, history: int = 1) -> "Mapped":
        lengths = np.diff(np.concatenate([[-1], dataset.ends]))
        ends = jnp.asarray(dataset.ends, jnp.int32)
        goals = "observations" if dataset.oracle is None else "oracle"
        first_rows, states = PerEpisode(ends, jnp.asarray(dataset.starts, jnp.int32)), "observations"
        rows = Rows(
            observations=RequestTable(states) if history == 1 else HistoryRequestTable(states, first_rows, history),
            actions=RequestTable("actions"),
            goals=RequestTable(goals),
            transitions=NthRow.of(lengths, excluded=1),
            early=NthRow.of(lengths, excluded=2),
            first_rows=first_rows,
            final_goals=PerEpisode(ends, ends - 1),
        )
        tables = {"observations": dataset.observations, "actions": dataset.actions}
        tables |= {} if dataset.oracle is None else {"oracle": dataset.oracle}
        moments = {"observations": normalization.observations, "oracle": normalization.goals} if normalization else {}
        return cls(rows, tables, moments)

    def look_up(self, drawn: Drawn) -> Drawn:
        """A batch or several with every request replaced by its rows.

        Each table is read once, and equal requests only once: states and goals may request the same rows.
        """
        requests: dict[str, dict[bytes, np.ndarray]] = {}
        for request in _requests(drawn):
            numbers = np.asarray(request.rows)
            requests.setdefault(request.table, {})[numbers.tobytes()] = numbers.reshape(-1)
        found = {table: self._rows(table, wanted) for table, wanted in requests.items()}

        def fill(leaf: Any) -> Any:
            if not isinstance(leaf, RowRequest):
                return leaf
            rows = found[leaf.table][np.asarray(leaf.rows).tobytes()]
            shaped = rows.reshape(*leaf.rows.shape, *rows.shape[1:])
            return side_by_side(shaped, rows.ndim - 1) if leaf.joined else shaped

        filled: Drawn = jax.tree.map(fill, drawn, is_leaf=lambda leaf: isinstance(leaf, RowRequest))
        return filled

    def _rows(self, table: str, requests: dict[bytes, np.ndarray]) -> dict[bytes, np.ndarray]:
        """For each of the requests the rows it asks for, all read together."""
        taken = take(self.tables[table], np.concatenate(list(requests.values())))
        if table in self.moments:
            taken = self.moments[table].standardized(taken)
        cuts = np.cumsum([len(numbers) for numbers in requests.values()])[:-1]
        return dict(zip(requests, np.split(taken, cuts), strict=True))

    def bytes_of(self, drawn: Drawn) -> int:
        """Upper bound on the bytes of the rows that `look_up` reads."""
        return sum(math.prod(request.rows.shape) * self.tables[request.table][:1].nbytes for request in _requests(drawn))


def _requests(drawn: Drawn) -> list[RowRequest]:
    leaves = jax.tree.leaves(drawn, is_leaf=lambda leaf: isinstance(leaf, RowRequest))
    return [leaf for leaf in leaves if isinstance(leaf, RowRequest)]
