"""Shortest paths: the same numbers with and without SciPy, and one rule where several paths are equally short."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random

from mvl.planning.paths import Edges, _costs_by_scipy, costs_of


def made(matrix):
    found = csr_matrix(np.asarray(matrix, np.float32))
    return Edges(found.data, found.indices, found.indptr)


@pytest.mark.parametrize("rounded", [False, True], ids=["lengths of all kinds", "many equal lengths"])
def test_both_ways_to_compute_give_the_same_bits(rounded):
    draw = np.random.default_rng(0)
    matrix = random(300, 300, 0.02, "csr", rng=draw, dtype=np.float32)
    matrix.data = np.maximum(1, 5 * matrix.data).round(0 if rounded else 7)
    edges = Edges(matrix.data, matrix.indices, matrix.indptr)
    last = np.where(draw.uniform(size=(4, 300)) < 0.02, draw.uniform(1, 9, (4, 300)).round(1), np.inf)
    factors = np.where(draw.uniform(size=len(matrix.data)) < 0.1, 20.0, 1.0)
    found, expected = (function(edges, edges.lengths * factors, last) for function in (costs_of, _costs_by_scipy))
    assert np.array_equal(found, expected)
    assert np.isfinite(found).any(axis=1).all()
    costs, onward = edges.trees(last, factors)
    following = np.concatenate([costs, np.zeros((4, 1))], axis=1)
    dense = matrix.copy()
    dense.data = dense.data * factors
    lengths = np.concatenate([dense.toarray(), np.zeros((300, 1))], axis=1)
    for goal in range(4):
        for node in np.flatnonzero(np.isfinite(costs[goal])):
            step = last[goal, node] if onward[goal, node] == 300 else lengths[node, onward[goal, node]]
            assert costs[goal, node] == pytest.approx(step + following[goal, onward[goal, node]])


def test_of_equally_short_paths_that_with_the_longest_first_edge_is_taken():
    edges = made([[0, 1, 1, 2], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]])
    costs, onward = edges.trees(np.array([[np.inf, np.inf, np.inf, 1.0]]))
    assert costs.tolist() == [[3, 2, 2, 1]]
    assert onward.tolist() == [[3, 3, 3, 4]]
    assert made([[0, 1, 1, 0], *[[0, 0, 0, 1]] * 2, [0] * 4]).trees(np.array([[np.inf, np.inf, np.inf, 1.0]]))[1][0, 0] == 1


def test_the_goal_itself_comes_before_a_node_that_is_as_near():
    assert made([[0, 1], [0, 0]]).trees(np.array([[2.0, 1.0]]))[1].tolist() == [[2, 2]]


def test_nodes_without_a_path():
    edges = made([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    costs, onward = edges.trees(np.array([[1.0, np.inf, np.inf]]))
    assert costs.tolist() == [[1.0, np.inf, np.inf]]
    assert onward.tolist() == [[3, 3, 3]]
    assert edges.reachable(np.array([True, False, False])).tolist() == [True, True, False]
    assert edges.ends_of(2).tolist() == [1]
