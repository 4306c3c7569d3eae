"""Shortest ways against ruler and compass."""

import numpy as np
import pytest

from mvl.results.shortest_paths import geodesic
from mvl.tasks import find_task
from mvl.tasks.maze import Maze
from mvl.tasks.simulator import first_states


def room(rows: int, columns: int, *blocks: tuple[int, int]) -> Maze:
    """An open room inside walls, cells 1 x 1, the lower left free cell centered at (1, 1), with some cells filled."""
    walls = np.ones((rows + 2, columns + 2), int)
    walls[1:-1, 1:-1] = 0
    for block in blocks:
        walls[block] = 1
    return Maze(walls, 1.0, (0.0, 0.0), 0.5)


def at(maze: Maze, field: np.ndarray, x: float, y: float) -> float:
    """The field at the grid point nearest to a place."""
    xs, ys, _ = maze.grid()
    return float(field[np.abs(ys - y).argmin(), np.abs(xs - x).argmin()])


@pytest.mark.parametrize("goal", [(1.0, 1.0), (1.3, 1.1), (2.49, 2.49)])
def test_in_an_open_room_the_way_is_straight(goal):
    maze = room(4, 6)
    goal = np.array(goal)
    found, straight = geodesic(maze, goal), maze.straight_distance(goal)
    free = maze.grid()[2]
    assert np.isinf(found[~free]).all()
    ratio = found[free] / straight[free]
    assert ratio.min() > 1 - 1e-9
    assert ratio.max() < 1.005


def test_around_a_wall_the_way_touches_its_corner():
    """A wall from the lower side up to y = 3.5, from x = 1.5 to 2.5: from (1, 1) to (3, 1) over both its upper corners."""
    maze = room(4, 3, (1, 2), (2, 2), (3, 2))
    found = geodesic(maze, np.array([3.0, 1.0]))
    by_hand = 2 * np.hypot(0.5, 2.5) + 1
    assert at(maze, found, 1.0, 1.0) == pytest.approx(by_hand, rel=0.02)
    assert at(maze, found, 1.0, 1.0) > by_hand - 0.1  # a grid point lies beside the place asked about
    assert at(maze, found, 3.0, 3.0) == pytest.approx(2.0, abs=0.06)


def test_no_way_squeezes_between_walls_that_touch_at_a_corner():
    maze = room(2, 2, (1, 2), (2, 1))
    found = geodesic(maze, np.array([1.0, 1.0]))
    assert np.isinf(at(maze, found, 2.0, 2.0))
    assert np.isfinite(at(maze, found, 1.3, 0.7))


def test_a_fast_march_agrees():
    skfmm = pytest.importorskip("skfmm")
    maze, goal = room(6, 6, (3, 3), (3, 4), (4, 3)), np.array([2.2, 1.1])
    found, (_, _, free) = geodesic(maze, goal), maze.grid()
    start = 3 * maze.spacing  # a circle around the goal, whose distances are known
    marched = start + skfmm.distance(np.ma.MaskedArray(maze.straight_distance(goal) - start, ~free), dx=maze.spacing)
    far = free & (maze.straight_distance(goal) > start)
    assert np.abs(marched - found)[far].max() < maze.spacing


def test_the_mazes_of_tasks():
    maze = find_task("pointmaze-medium-navigate-v0").maze()
    assert maze is not None
    assert maze.walls.shape == (8, 8)
    assert (maze.unit, maze.radius) == (4.0, 1.0)
    starts, goals = first_states(find_task("pointmaze-medium-navigate-v0"), seed=3)
    assert starts.shape == goals.shape == (5, 2)
    again = first_states(find_task("pointmaze-medium-navigate-v0"), seed=3)
    assert np.array_equal(goals, again[1])
    assert np.isfinite(at(maze, geodesic(maze, goals[0]), *starts[0]))
    assert find_task("scene-play-v0").maze is None
