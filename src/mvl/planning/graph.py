"""The graph planner: shortest paths over states of the data, with edges where the learned value says a state is near."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from mvl.data.dataset import Dataset
from mvl.data.history import states_at
from mvl.errors import DataError
from mvl.planning.roadmap import Graph, Roadmap, Steps

PAIRS = 2000
"""Pairs of states that calibrate the value's steps."""
BLOCK = 128_000
"""Pairs of nodes whose steps are computed in one call."""
BRIDGE, BRIDGES = 3.0, 8
"""Longest edge between parts of a graph that would otherwise not be connected, in units of k, and how many there may be from
each part to each other."""


class Places(NamedTuple):
    """States of the data that a graph is built from."""

    observations: np.ndarray  # (nodes, d)
    goals: np.ndarray  # (nodes, g) the same states as goals
    starts: np.ndarray  # (pairs, d) states of held-out episodes
    ends: np.ndarray  # (pairs, g) as goals: the states k steps later

    @classmethod
    def draw(cls, graph: Graph, train: Dataset, held_out: Dataset, history: int = 1, seed: int = 0) -> "Places":
        """Nodes from the training data and pairs from the held-out data, both drawn uniformly; states have a history."""
        random = np.random.default_rng(seed)
        count = min(graph.nodes, len(train.transitions))
        rows = np.sort(random.choice(train.transitions, count, replace=False))
        whole = calibrating(graph, held_out)
        firsts = np.sort(random.choice(whole, min(PAIRS, len(whole)), replace=False))
        ends = held_out.as_goals(firsts + graph.steps)
        states, starts = states_at(train, rows, history), states_at(held_out, firsts, history)
        return cls(states, train.as_goals(rows), starts, ends)


def build(graph: Graph, places: Places, steps: Steps, report: Callable[[int, int], None] | None = None) -> Roadmap:
    """Calibrate the value's steps and join all nodes that are near; `report` is called with blocks done and their number."""
    unit = max(float(np.median(steps(places.starts, places.ends))) / graph.steps, 1e-6)
    count = len(places.observations)
    size = max(1, min(count, BLOCK // count))
    firsts = range(0, count, size)
    rows, columns, lengths = [], [], []
    for number, first in enumerate(firsts, 1):
        block = np.arange(first, first + size) % count  # every block has the same size, so that one compiled call serves all
        found = steps(places.observations[block, None], places.goals[None]) / unit
        found[np.arange(size), block] = np.inf
        near = np.argwhere(found[: count - first] <= BRIDGE * graph.steps)
        rows.append(first + near[:, 0])
        columns.append(near[:, 1])
        lengths.append(np.maximum(found[near[:, 0], near[:, 1]], 1.0))
        if report:
            report(number, len(firsts))
    edges = connected(np.concatenate(rows), np.concatenate(columns), np.concatenate(lengths), count, graph.steps)
    return Roadmap(places.observations, places.goals, edges, unit)


def connected(rows: np.ndarray, columns: np.ndarray, lengths: np.ndarray, count: int, near: float) -> csr_matrix:
    """Edges between `count` nodes, given candidates: all that are at most `near` long, and bridges.

    A rarely visited place may have too few nodes to be joined by short edges. So from each strongly connected part to each
    other the shortest longer candidates are kept too, with `BRIDGE` times their length, so that a path takes them last.
    """
    short = lengths <= near
    made = csr_matrix((lengths[short], (rows[short], columns[short])), shape=(count, count))
    parts, part = connected_components(made, directed=True, connection="strong")
    long = np.flatnonzero(~short & (part[rows] != part[columns]))
    between = part[rows[long]].astype(np.int64) * parts + part[columns[long]]
    order = np.lexsort((lengths[long], between))
    long, between = long[order], between[order]
    first = np.searchsorted(between, between)  # where the candidates between the same two parts begin
    kept = long[np.arange(len(long)) - first < BRIDGES]
    every = np.concatenate([np.flatnonzero(short), kept])
    prices = np.where(short[every], lengths[every], BRIDGE * lengths[every])
    return csr_matrix((prices, (rows[every], columns[every])), shape=(count, count))


def calibrating(graph: Graph, held_out: Dataset) -> np.ndarray:
    """The transitions that have a goal k steps later; data without any is refused."""
    apart = held_out.final_goals[held_out.transitions] - held_out.transitions
    if apart.max() < graph.steps:
        raise DataError(f"{held_out.source}: no episode has {graph.steps} steps; plan with a smaller --plan-steps.")
    return np.asarray(held_out.transitions[apart >= graph.steps])
