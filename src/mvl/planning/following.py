"""Follow shortest paths of a roadmap in many episodes at once. NumPy alone: the value is a function."""

import sys
from collections.abc import Callable

import numpy as np

from mvl.planning.paths import Edges
from mvl.planning.roadmap import Graph, Roadmap, Steps

LINKS = 5
"""Nodes that a start or a goal is joined with if none is near."""
PENALTY, MOST = 20.0, 1e6
"""Factor on the length of edges where an episode made no progress, and the largest product of such factors."""
DETOUR = 2.0
"""A node ahead is pursued directly only if the path to it is at most this many times as long as the reach."""
ARRIVED = 0.5
"""A node that is nearer than this, in units of k, counts as reached: the next is pursued, however far away it is."""


def print_warning(text: str) -> None:
    print(f"mvl: {text}", file=sys.stderr)


class Follower:
    """Sub-goals for the episodes that were begun together.

    For every episode there is a tree of shortest paths to its goal: `onward` has the next node of each node. The goal
    itself has the number of nodes as its index. An episode walks along its tree; where it makes no progress, edges
    around that place are made longer for this episode, and its tree is computed again.
    """

    def __init__(self, graph: Graph, roadmap: Roadmap, steps: Steps, warn: Callable[[str], None] = print_warning) -> None:
        self.graph, self.map, self.warn = graph, roadmap, warn
        self.steps: Steps = lambda observations, goals: steps(observations, goals) / roadmap.unit
        self.size = len(roadmap.observations)
        self.edges = Edges(roadmap.edges.data, roadmap.edges.indices, roadmap.edges.indptr)

    def begin(self, observations: np.ndarray, goals: np.ndarray) -> None:
        """New episodes: observations (episodes, d) and goals (episodes, g)."""
        count = len(goals)
        self.goals = goals.copy()
        self.final = self._to_goals(goals)  # (episodes, nodes) steps from the nodes to the goal
        self.factors: dict[int, np.ndarray] = {}  # episode -> factors on the edges
        self.detours = np.ones((count, self.size))  # factors on joining a path at a node
        self.cost = np.empty((count, self.size))
        self.onward = np.full((count, self.size + 1), self.size)  # after the goal comes the goal
        self.reachable = np.ones(count, bool)
        self.node, self.waited, self.best = np.zeros(count, int), np.zeros(count, int), np.full(count, np.inf)
        self.patience = np.full(count, self.graph.patience * self.graph.steps)
        everyone = np.arange(count)
        self._shortest(everyone)
        self._enter(everyone, observations)

    def subgoals(self, observations: np.ndarray, over: np.ndarray | None = None) -> np.ndarray:
        """The goals to pursue now, (episodes, g); episodes that are `over`, (episodes,), are not planned again."""
        episodes, reach = np.arange(len(self.goals)), self.graph.reach * self.graph.steps
        ahead = self._ahead()  # (episodes, lookahead)
        costs = self._costs_of(ahead)
        found = self.steps(observations[:, None], self._goals_of(ahead))
        near = (found < reach) & (costs[:, :1] - costs <= DETOUR * reach)
        at_least = (found[:, 0] < ARRIVED * self.graph.steps).astype(int)
        furthest = np.where(near.any(axis=1), near.shape[1] - 1 - near[:, ::-1].argmax(axis=1), 0)
        furthest = np.maximum(furthest, at_least)
        self.node = ahead[episodes, furthest]
        self._watch(observations, found[episodes, furthest] + costs[episodes, furthest], False if over is None else over)
        return self._goals_of(self.node[:, None])[:, 0]

    def path(self, episode: int) -> np.ndarray:
        """The goals on the planned path of an episode, from its current node to its goal, (nodes, g)."""
        nodes = [int(self.node[episode])]
        while nodes[-1] != self.size:
            nodes.append(int(self.onward[episode, nodes[-1]]))
        return np.concatenate([self.map.goals[nodes[:-1]], self.goals[episode][None]])

    def _to_goals(self, goals: np.ndarray) -> np.ndarray:
        """Steps from all nodes to goals, (goals, nodes)."""
        return self.steps(self.map.observations[None], goals[:, None])

    def _ahead(self) -> np.ndarray:
        """The current node of every episode and those after it on its path, (episodes, lookahead)."""
        episodes, nodes = np.arange(len(self.onward)), [self.node]
        for _ in range(self.graph.lookahead - 1):
            nodes.append(self.onward[episodes, nodes[-1]])
        return np.stack(nodes, axis=1)

    def _goals_of(self, nodes: np.ndarray) -> np.ndarray:
        """Nodes (episodes, some) as goals; the goal's own index stands for the episode's goal."""
        found = self.map.goals[np.minimum(nodes, self.size - 1)]
        return np.where((nodes == self.size)[..., None], self.goals[:, None], found)

    def _costs_of(self, nodes: np.ndarray) -> np.ndarray:
        """Steps from nodes (episodes, some) to the episode's goal."""
        costs = np.take_along_axis(self.cost, np.minimum(nodes, self.size - 1), axis=1)
        return np.where(nodes == self.size, 0.0, costs)

    def _watch(self, observations: np.ndarray, remaining: np.ndarray, over: np.ndarray | bool) -> None:
        """Notice episodes whose remaining path does not become shorter, and plan them again; each time they get twice as long.

        Those that are over stand still.
        """
        better = remaining < self.best - 1
        self.best = np.where(better, remaining, self.best)
        self.waited = np.where(better, 0, self.waited + 1)
        stuck = np.flatnonzero((self.waited > self.patience) & ~np.asarray(over))
        if len(stuck):
            self.patience[stuck] *= 2
            self._avoid(stuck, observations[stuck])
            self._shortest(stuck)
            self._enter(stuck, observations[stuck])

    def _shortest(self, episodes: np.ndarray) -> None:
        """Trees of shortest paths to the goals of these episodes."""
        same = np.array([episode for episode in episodes if episode not in self.factors], int)
        groups: list[tuple[np.ndarray, np.ndarray | float]] = [(same, 1.0)]
        groups += [(np.array([episode]), self.factors[episode]) for episode in episodes if episode in self.factors]
        for group, factors in groups:
            if len(group):
                found = self.edges.trees(links(self.final[group], self.graph.steps), factors)
                self.cost[group], self.onward[group, : self.size] = found

    def _enter(self, episodes: np.ndarray, observations: np.ndarray) -> None:
        """Join the current states of these episodes with their trees."""
        starts = self.steps(observations[:, None], self.map.goals[None])  # (some, nodes)
        joins = links(starts, self.graph.steps) * self.detours[episodes]
        total = joins + self.cost[episodes]
        lost = np.isinf(total).all(axis=1)
        if lost.any():
            self._settle(episodes[lost], joins[lost])
            total[lost] = joins[lost] + self.cost[episodes[lost]]
        node = total.argmin(axis=1)
        least = total[np.arange(len(node)), node]
        direct = self.steps(observations, self.goals[episodes])
        at_goal = (direct <= self.graph.steps) & (least <= DETOUR * self.graph.steps)
        self.node[episodes] = np.where(at_goal, self.size, node)
        self.best[episodes], self.waited[episodes] = np.inf, 0

    def _settle(self, episodes: np.ndarray, joins: np.ndarray) -> None:
        """Goals that no path leads to are replaced by the reachable node nearest to them."""
        count = f"{len(episodes)} of {len(self.goals)} episodes"
        self.warn(f"no path leads to the goals of {count}; the nearest state that one leads to is pursued instead")
        for episode, join in zip(episodes, joins, strict=True):
            node = int(np.where(self.edges.reachable(np.isfinite(join)), self.final[episode], np.inf).argmin())
            self.goals[episode], self.reachable[episode] = self.map.goals[node], False
            self.final[episode] = self._to_goals(self.goals[episode][None])[0]
            self.final[episode, node] = 0.0  # whatever the value says
            self._shortest(np.array([episode]))

    def _avoid(self, episodes: np.ndarray, observations: np.ndarray) -> None:
        """Lengthen edges from around the current states of these episodes to around their sub-goals."""
        starts = self.steps(observations[:, None], self.map.goals[None]) <= self.graph.steps  # (some, nodes)
        for episode, here in zip(episodes, starts, strict=True):
            node = self.node[episode]
            there = np.zeros(self.size, bool)
            if node == self.size:
                there[self.final[episode] <= self.graph.steps] = True
                self.final[episode] = np.where(here, np.minimum(PENALTY * self.final[episode], MOST), self.final[episode])
            else:
                there[self.edges.ends_of(node)] = there[node] = True
            factors = self.factors.setdefault(int(episode), np.ones(len(self.edges.lengths)))
            factors[here[self.edges.starts] & there[self.edges.ends]] *= PENALTY
            self.detours[episode, there] *= PENALTY
            np.minimum(factors, MOST, out=factors)
            np.minimum(self.detours, MOST, out=self.detours)


def links(steps: np.ndarray, near: float) -> np.ndarray:
    """Lengths of the edges between some states and all nodes (some, nodes): infinite unless near, or among the nearest."""
    nearest = np.sort(steps, axis=1)[:, min(LINKS, steps.shape[1]) - 1, None]
    allowed = np.where((steps <= near).any(axis=1, keepdims=True), near, nearest)
    return np.where(steps <= allowed, np.maximum(steps, 1.0), np.inf)
