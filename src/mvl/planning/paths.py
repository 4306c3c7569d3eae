"""Shortest paths over a graph's edges. NumPy is enough, so that a robot computer can plan; SciPy is faster."""

import importlib.util

import numpy as np

HAS_SCIPY = importlib.util.find_spec("scipy") is not None


class Edges:
    """Directed edges between nodes, in the order of where they begin; their lengths are positive."""

    def __init__(self, lengths: np.ndarray, ends: np.ndarray, bounds: np.ndarray) -> None:
        """Those of node n are numbers bounds[n] to bounds[n + 1], as in a sparse matrix with compressed rows."""
        self.count = len(bounds) - 1
        self.lengths, self.ends, self.bounds = lengths.astype(np.float64), ends.astype(np.int64), bounds.astype(np.int64)
        self.starts = np.repeat(np.arange(self.count), np.diff(self.bounds))
        self.turn = np.argsort(self.ends, kind="stable")  # numbers of the edges in the order of where they lead
        self.turned_bounds = np.searchsorted(self.ends[self.turn], np.arange(self.count + 1))

    def ends_of(self, node: int) -> np.ndarray:
        """Where the edges of a node lead."""
        return self.ends[self.bounds[node] : self.bounds[node + 1]]

    def trees(self, last: np.ndarray, factors: np.ndarray | float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Shortest paths from all nodes to several goals, given the lengths of the edges to the goals (goals, nodes).

        Returns the lengths of the paths (goals, nodes), infinite where there is none, and the next node of each node
        (goals, nodes), which is the number of nodes where the goal itself comes next, or nothing. The lengths of the edges
        are multiplied by `factors`.
        """
        lengths, last = self.lengths * factors, last.astype(np.float64)
        costs = (_costs_by_scipy if HAS_SCIPY else costs_of)(self, lengths, last)
        return costs, np.stack([self._onward(lengths, *pair) for pair in zip(costs, last, strict=True)])

    def _onward(self, lengths: np.ndarray, costs: np.ndarray, last: np.ndarray) -> np.ndarray:
        """The next node on a shortest path; of several, the one that the longest edge leads to, then the lowest number."""
        onward = np.full(self.count, self.count)
        on_path = (costs[self.ends] + lengths == costs[self.starts]) & np.isfinite(costs[self.starts])
        edges = np.flatnonzero(on_path & (last != costs)[self.starts])
        edges = edges[np.lexsort((-self.ends[edges], lengths[edges]))]
        onward[self.starts[edges]] = self.ends[edges]  # of several assignments the last counts
        return onward

    def reachable(self, starts: np.ndarray) -> np.ndarray:
        """Which nodes some path leads to from any of the nodes that `starts` marks, (nodes,)."""
        found, before = starts.copy(), -1
        while before != (before := int(found.sum())):
            found[self.ends[found[self.starts]]] = True
        return found


def costs_of(edges: Edges, lengths: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Lengths of shortest paths to goals, (goals, nodes): the same sums of the same numbers as by Dijkstra's algorithm.

    Whenever the paths of some nodes became shorter, all edges that lead to these are looked at again, together.
    """
    costs, starts, lengths = last.copy(), edges.starts[edges.turn], lengths[edges.turn]
    for cost in costs:
        changed = np.flatnonzero(np.isfinite(cost))
        while len(changed):
            firsts, counts = edges.turned_bounds[changed], np.diff(edges.turned_bounds)[changed]
            numbers = np.arange(counts.sum()) + np.repeat(firsts - counts.cumsum() + counts, counts)
            before = cost.copy()
            np.minimum.at(cost, starts[numbers], np.repeat(cost[changed], counts) + lengths[numbers])
            changed = np.flatnonzero(cost < before)
    return costs


def _costs_by_scipy(edges: Edges, lengths: np.ndarray, last: np.ndarray) -> np.ndarray:
    """As `costs_of`: every goal is a further node, and all edges are turned around."""
    from scipy.sparse import csr_matrix, vstack
    from scipy.sparse.csgraph import dijkstra

    allowed, goals = np.isfinite(last), len(last)
    to_goals = csr_matrix((last[allowed], np.nonzero(allowed)), shape=(goals, edges.count + goals))
    arrays = lengths[edges.turn], edges.starts[edges.turn], edges.turned_bounds
    turned = csr_matrix(arrays, shape=(edges.count, edges.count + goals))
    found: np.ndarray = dijkstra(vstack([turned, to_goals]).tocsr(), indices=edges.count + np.arange(goals))
    return found[:, : edges.count]
