"""Edges of a graph: short ones, and bridges between parts that would otherwise not be connected."""

import numpy as np

from mvl.planning.graph import BRIDGE, BRIDGES, Places, build, connected
from mvl.planning.roadmap import Graph


def along_a_line(positions, near=10.0):
    """Edges between points of a line, whose distances are the candidates up to the longest bridge."""
    distances = np.abs(np.subtract.outer(positions, positions)).astype(float)
    np.fill_diagonal(distances, np.inf)
    rows, columns = np.nonzero(distances <= BRIDGE * near)
    return connected(rows, columns, distances[rows, columns], len(positions), near).toarray()


def test_a_connected_graph_has_short_edges_alone():
    edges = along_a_line(np.arange(0, 50, 5))
    assert edges.max() == 10
    assert edges[0, 1] == 5
    assert edges[0, 3] == 0


def test_parts_are_joined_both_ways_at_a_price():
    edges = along_a_line(np.array([0, 5, 22, 27]))
    assert edges[1, 2] == edges[2, 1] == BRIDGE * 17
    assert edges[0, 2] == BRIDGE * 22


def test_only_the_shortest_bridges_are_kept():
    edges = along_a_line(np.concatenate([np.arange(10), 25 + np.arange(10)]))
    bridges = edges[:10, 10:]
    assert (bridges > 0).sum() == BRIDGES
    assert bridges.max() == BRIDGE * 19


def test_parts_that_are_too_far_apart_stay_apart():
    edges = along_a_line(np.array([0, 5, 40, 45]))
    assert not edges[:2, 2:].any()
    assert not edges[2:, :2].any()


def test_a_gap_in_the_nodes_is_bridged_when_a_graph_is_built():
    nodes = np.array([[0.0], [8.0], [30.0], [38.0]])
    pairs = np.zeros((3, 1)), np.full((3, 1), 10.0)
    steps = lambda observations, goals: np.abs(observations - goals)[..., 0]
    edges = build(Graph(nodes=4), Places(nodes, nodes, *pairs), steps).edges.toarray()
    assert edges[1, 2] == BRIDGE * 22
    assert edges[0, 1] == 8
