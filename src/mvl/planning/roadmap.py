"""The settings of the graph planner, and a graph as it was built for one trained value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mvl.checks import COUNT, POSITIVE, check_settings

if TYPE_CHECKING:  # a robot computer, which has no SciPy, has the three arrays of this matrix
    from scipy.sparse import csr_matrix

Steps = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Observations (..., d) and goals (..., g), leading axes broadcast -> steps between them as the value has it (...)."""


@dataclass(frozen=True)
class Graph:
    """Sub-goals on shortest paths over nodes drawn from the data (after test-time graph search, Opryshko et al.).

    Values are first turned into steps, then calibrated: a regularized value may count three steps as one, so one unit is
    the median over states that lie k steps apart in held-out episodes, divided by k. An edge joins two nodes that are at
    most k steps apart; parts of the graph without a way between them are joined by a few longer edges (`connected`). The
    sub-goal is the furthest node on the path that is nearer than `reach` times k steps.
    """

    nodes: int = 2000
    """Number of nodes, drawn uniformly from the data."""
    steps: int = 10
    """k: length of the longest edge, in steps of the data."""
    reach: float = 2.0
    """Distance of the sub-goal, in units of k."""
    lookahead: int = 16
    """Nodes of the path among which the sub-goal is chosen."""
    patience: int = 2
    """Replan if the rest of the path has not become shorter for this many times k steps."""

    def __post_init__(self) -> None:
        check_settings(self, nodes=COUNT, steps=COUNT, reach=POSITIVE, lookahead=COUNT, patience=COUNT)


class Roadmap(NamedTuple):
    """A graph as it was built for one trained value."""

    observations: np.ndarray  # (nodes, d)
    goals: np.ndarray  # (nodes, g)
    edges: csr_matrix  # (nodes, nodes) steps of the data from row to column, for pairs that are near
    unit: float
    """What the value counts for one step of the data."""
