"""AntSoccer (OGBench): an ant that dribbles a ball. Its data can only be downloaded."""

from itertools import product

import numpy as np

from mvl.tasks.maze import maze_task
from mvl.tasks.ogbench import Published, alphas
from mvl.tasks.task import Task

BALL = 15
"""Index of the ball's position in `qpos`."""


def tasks() -> list[Task]:
    return [_task(*choice) for choice in product(("arena", "medium"), ("navigate", "stitch"), (False, True))]


def _task(variant: str, kind: str, oracle: bool) -> Task:
    published = Published(kind, alphas(0.1, 0.3, 0.003, 0.3), 0.5)
    return maze_task("antsoccer", variant, kind, oracle, published, goal=ball, metric=False, episode_seconds=1.0)


def ball(qpos: np.ndarray) -> np.ndarray:
    """Position of the ball, (rows, 2)."""
    return qpos[:, BALL : BALL + 2].astype(np.float32)
