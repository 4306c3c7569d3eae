"""Data that stays where it is: rows are drawn by number, and looked up outside of the compiled program.

The goal streams do not know the difference. They index tables; here a table answers with the numbers it was asked for,
and `look_up` puts the rows themselves in their place, from arrays in memory or in mapped files.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mvl.data.dataset import Dataset
from mvl.data.goals import Rows
from mvl.data.memory_map import take
from mvl.types import Batch

Drawn = TypeVar("Drawn", Batch, list[Batch])


@partial(jax.tree_util.register_dataclass, data_fields=["rows"], meta_fields=["table"])
@dataclass(frozen=True)
class Asked:
    """Rows of a table that someone wants."""

    table: str
    rows: Array


@dataclass(frozen=True)
class Numbers:
    """A table that answers with what it was asked for."""

    table: str

    def __getitem__(self, rows: Array) -> Asked:
        return Asked(self.table, rows)


@dataclass(frozen=True)
class Nth:
    """The n-th row that is not among the last `spared` of its episode, without a list of all such rows."""

    before: Array  # (episodes,) such rows up to the end of each episode
    spared: int

    def __getitem__(self, numbers: Array) -> Array:
        return numbers + self.spared * jnp.searchsorted(self.before, numbers, side="right").astype(jnp.int32)

    @property
    def shape(self) -> tuple[Array]:
        return (self.before[-1],)


@dataclass(frozen=True)
class OfEpisode:
    """A number that all rows of an episode share, told from where episodes end."""

    ends: Array  # (episodes,)
    numbers: Array  # (episodes,)

    def __getitem__(self, rows: Array) -> Array:
        return self.numbers[jnp.searchsorted(self.ends, rows)]


class Mapped(NamedTuple):
    """A dataset whose rows are looked up."""

    rows: Rows
    """What sampling needs, with row numbers in place of rows."""
    tables: dict[str, np.ndarray]

    @classmethod
    def of(cls, dataset: Dataset) -> "Mapped":
        lengths = np.diff(np.concatenate([[-1], dataset.ends]))
        ends = jnp.asarray(dataset.ends, jnp.int32)
        nth = lambda spared: Nth(jnp.asarray(np.cumsum(lengths - spared), jnp.int32), spared)
        told = "observations" if dataset.oracle is None else "oracle"
        rows = Rows(
            observations=Numbers("observations"),
            actions=Numbers("actions"),
            goals=Numbers(told),
            transitions=nth(1),
            early=nth(2),
            first_rows=OfEpisode(ends, jnp.asarray(dataset.starts, jnp.int32)),
            final_goals=OfEpisode(ends, ends - 1),
        )
        tables = {"observations": dataset.observations, "actions": dataset.actions}
        tables |= {} if dataset.oracle is None else {"oracle": dataset.oracle}
        return cls(rows, tables)

    def look_up(self, drawn: Drawn) -> Drawn:
        """Rows in place of their numbers, in a batch or several: one look at every table, each wish in it once.

        A state that is its own goal is wished for twice, under the same numbers.
        """
        wishes: dict[str, dict[bytes, np.ndarray]] = {}
        for asked in _asked(drawn):
            numbers = np.asarray(asked.rows)
            wishes.setdefault(asked.table, {})[numbers.tobytes()] = numbers
        found = {table: self._rows(table, wanted) for table, wanted in wishes.items()}
        fill = lambda leaf: found[leaf.table][np.asarray(leaf.rows).tobytes()] if isinstance(leaf, Asked) else leaf
        return jax.tree.map(fill, drawn, is_leaf=lambda leaf: isinstance(leaf, Asked))

    def _rows(self, table: str, wishes: dict[bytes, np.ndarray]) -> dict[bytes, np.ndarray]:
        taken = take(self.tables[table], np.stack(list(wishes.values())))
        return dict(zip(wishes, taken, strict=True))

    def bytes_of(self, drawn: Drawn) -> int:
        """What looking it up takes, at most."""
        return sum(math.prod(asked.rows.shape) * self.tables[asked.table][:1].nbytes for asked in _asked(drawn))


def _asked(drawn: Drawn) -> list[Asked]:
    leaves = jax.tree.leaves(drawn, is_leaf=lambda leaf: isinstance(leaf, Asked))
    return [leaf for leaf in leaves if isinstance(leaf, Asked)]
