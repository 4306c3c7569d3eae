"""Plans over hand-made mazes whose shortest paths are known."""

import numpy as np
import pytest
from scipy.sparse import lil_matrix
from scipy.sparse.csgraph import shortest_path

from mvl.planning.following import Follower, links
from mvl.planning.graph import Places, build
from mvl.planning.paths import Edges
from mvl.planning.roadmap import Graph, Roadmap

MOVES = {"right": (0, 1), "left": (0, -1), "down": (1, 0), "up": (-1, 0)}

SNAKE = """
.......
######.
.......
.######
.......
"""
ONE_WAY = """
.....
.###.
.###.
.>>>.
"""
APART = """
...#...
...#...
...#...
"""
WALL = """
.........
.#######.
.........
"""


class Maze:
    """Cells of a drawing as states; `>` can only be entered from the left."""

    def __init__(self, drawing: str) -> None:
        self.rows = drawing.strip().split("\n")
        self.cells = [(r, c) for r, row in enumerate(self.rows) for c, kind in enumerate(row) if kind != "#"]
        self.number = {cell: index for index, cell in enumerate(self.cells)}
        moves = lil_matrix((len(self.cells), len(self.cells)))
        for cell in self.cells:
            for name, (down, right) in MOVES.items():
                there = (cell[0] + down, cell[1] + right)
                if there in self.number and (self.rows[there[0]][there[1]] != ">" or name == "right"):
                    moves[self.number[cell], self.number[there]] = 1
        self.distances = shortest_path(moves.tocsr())
        self.distances[np.isinf(self.distances)] = 1000.0
        self.states = np.array(self.cells, np.float32)

    def steps(self, observations: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """The exact number of moves."""
        observations, goals = np.broadcast_arrays(observations, goals)
        index = lambda places: np.array([self.number[tuple(place)] for place in places.reshape(-1, 2).astype(int).tolist()])
        return self.distances[index(observations), index(goals)].reshape(observations.shape[:-1])

    def roadmap(self, graph: Graph, steps=None) -> Roadmap:
        """Every cell is a node; states one move apart calibrate."""
        pairs = np.argwhere(self.distances == graph.steps)
        places = Places(self.states, self.states, self.states[pairs[:, 0]], self.states[pairs[:, 1]])
        return build(graph, places, steps or self.steps)

    def follower(self, graph: Graph, steps=None, warn=lambda text: None) -> Follower:
        return Follower(graph, self.roadmap(graph, steps), steps or self.steps, warn)

    def move(self, here: np.ndarray, subgoal: np.ndarray) -> np.ndarray:
        """One move that brings the sub-goal nearer as the crow flies; against a wall, none."""
        best = here
        for name, (down, right) in MOVES.items():
            there = here + np.array([down, right], np.float32)
            cell = (int(there[0]), int(there[1]))
            free = cell in self.number and (self.rows[cell[0]][cell[1]] != ">" or name == "right")
            if free and np.linalg.norm(there - subgoal) < np.linalg.norm(best - subgoal) - 1e-6:
                best = there
        return best


def walk(maze: Maze, follower: Follower, start, goal, limit=300) -> list[tuple[int, int]]:
    here = np.array([start], np.float32)
    follower.begin(here, np.array([goal], np.float32))
    path = [start]
    while path[-1] != goal and len(path) < limit:
        here = maze.move(here[0], follower.subgoals(here)[0])[None]
        path.append((int(here[0, 0]), int(here[0, 1])))
    return path


def test_costs_are_the_shortest_distances():
    maze, graph = Maze(SNAKE), Graph(steps=1)
    roadmap = maze.roadmap(graph)
    edges = roadmap.edges
    lengths, onward = Edges(edges.data, edges.indices, edges.indptr).trees(links(maze.distances.T, 1))
    assert np.allclose(lengths, np.maximum(maze.distances.T, 1))
    size = len(maze.cells)
    for goal in range(size):
        for node in range(size):
            following = onward[goal, node]
            assert following == size or maze.distances[following, goal] == maze.distances[node, goal] - 1


@pytest.mark.parametrize("drawing", [SNAKE, ONE_WAY, WALL])
def test_walks_have_the_shortest_length(drawing):
    maze = Maze(drawing)
    start, goal = maze.cells[0], maze.cells[-1]
    path = walk(maze, maze.follower(Graph(steps=1, reach=1.5)), start, goal)
    assert len(path) - 1 == maze.distances[0, len(maze.cells) - 1]
    assert path[-1] == goal


def test_one_way_distances_are_kept_apart():
    maze = Maze(ONE_WAY)
    follower = maze.follower(Graph(steps=1, reach=1.5))
    forth, back = walk(maze, follower, (3, 0), (3, 4)), walk(maze, follower, (3, 4), (3, 0))
    assert len(forth) - 1 == 4
    assert len(back) - 1 == 10, "around, not against the arrows"


def test_subgoal_is_the_furthest_node_in_reach():
    maze = Maze(SNAKE)
    follower = maze.follower(Graph(steps=2, reach=2.0))
    start = maze.states[:1]
    follower.begin(start, maze.states[-1:])
    (subgoal,) = follower.subgoals(start)
    assert maze.steps(start, subgoal[None]) in (2, 3), "nearer than 4 steps, and no nearer than a whole edge"


def test_a_goal_in_reach_is_pursued_itself():
    maze = Maze(SNAKE)
    follower = maze.follower(Graph(steps=3))
    goal = np.array([[0, 2]], np.float32)
    follower.begin(maze.states[:1], goal)
    assert np.array_equal(follower.subgoals(maze.states[:1]), goal)


def test_a_goal_without_a_path_is_approached_and_said():
    maze, said = Maze(APART), []
    follower = maze.follower(Graph(steps=1, reach=1.5), warn=said.append)
    path = walk(maze, follower, (1, 0), (1, 6), limit=20)
    assert not follower.reachable[0]
    assert len(said) == 1
    assert "no path leads to the goals of 1 of 1 episodes" in said[0]
    assert all(cell[1] < 3 for cell in path)
    assert maze.steps(np.array(path[-1]), follower.goals[0]) == 0, "it waits at the node it chose"


def test_a_value_that_is_wrong_in_one_place_is_walked_around():
    """The value believes that the wall can be crossed in its middle; the walk finds out, and goes around."""
    maze = Maze(WALL)

    def wrong(observations, goals):
        found = maze.steps(observations, goals)
        observations, goals = np.broadcast_arrays(observations, goals)
        across = (np.abs(observations[..., 0] - goals[..., 0]) == 2) & (np.abs(observations[..., 1] - goals[..., 1]) <= 1)
        middle = np.abs(observations[..., 1] - 4) <= 1
        return np.where(across & middle, 2.0, found)

    path = walk(maze, maze.follower(Graph(steps=2, reach=1.5, patience=2), wrong), (0, 4), (2, 4))
    assert path[-1] == (2, 4)
    assert len(path) - 1 < 80


def test_episodes_together_are_planned_as_each_alone():
    maze, graph = Maze(SNAKE), Graph(steps=2)
    random = np.random.default_rng(0)
    starts, goals = (maze.states[random.integers(len(maze.states), size=12)] for _ in range(2))
    together = maze.follower(graph)
    together.begin(starts, goals)
    for moved in (starts, np.roll(starts, 1, axis=0)):
        found = together.subgoals(moved)
    for index in range(12):
        alone = maze.follower(graph)
        alone.begin(starts[index : index + 1], goals[index : index + 1])
        for moved in (starts, np.roll(starts, 1, axis=0)):
            (subgoal,) = alone.subgoals(moved[index : index + 1])
        assert np.array_equal(subgoal, found[index])


def test_calibration_undoes_a_value_that_counts_too_few_steps():
    maze, graph = Maze(SNAKE), Graph(steps=2)
    shrunk = lambda observations, goals: 0.2 * maze.steps(observations, goals)
    true, calibrated = maze.roadmap(graph), maze.roadmap(graph, shrunk)
    assert calibrated.unit == pytest.approx(0.2)
    assert np.allclose(true.edges.toarray(), calibrated.edges.toarray())


def test_the_node_beyond_a_gap_is_pursued_once_the_one_before_it_is_reached():
    states = np.array([[0.0], [8.0], [36.0], [44.0]])  # the gap is longer than the reach of 20
    steps = lambda observations, goals: np.abs(observations - goals)[..., 0]
    roadmap = build(Graph(nodes=4), Places(states, states, np.zeros((3, 1)), np.full((3, 1), 10.0)), steps)
    follower = Follower(Graph(nodes=4), roadmap, steps, lambda text: None)
    follower.begin(states[:1], states[3:])
    assert follower.subgoals(states[:1])[0, 0] == 8.0
    assert follower.subgoals(np.array([[5.0]]))[0, 0] == 36.0, "a node 3 steps away counts as reached"


def test_an_episode_that_is_over_is_not_planned_again():
    """It stands still, and would look stuck; the others are planned as without it."""
    maze, graph = Maze(SNAKE), Graph(steps=1, patience=1)
    starts, goals = maze.states[:2], maze.states[-2:]
    follower, all_running = maze.follower(graph), maze.follower(graph)
    over = np.array([True, False])
    for planner in (follower, all_running):
        planner.begin(starts, goals)
    for _ in range(10):
        found, expected = follower.subgoals(starts, over), all_running.subgoals(starts)
        assert np.array_equal(found[1], expected[1])
    assert set(all_running.factors) == {0, 1}
    assert set(follower.factors) == {1}
