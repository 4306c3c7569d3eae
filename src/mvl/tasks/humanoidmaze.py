"""HumanoidMaze (OGBench). Its data can only be downloaded."""

from itertools import product

from mvl.tasks.maze import maze_task
from mvl.tasks.ogbench import Published, alphas
from mvl.tasks.task import Task


def tasks() -> list[Task]:
    return [_task(*choice) for choice in product(("medium", "large", "giant"), ("navigate", "stitch"), (False, True))]


def _task(variant: str, kind: str, oracle: bool) -> Task:
    power = 0.0 if variant == "medium" else 0.1
    published = Published(kind, alphas(0.1, 0.1, 0.001, 0.1), power, subgoal_steps=100, discount=0.995)
    return maze_task("humanoidmaze", variant, kind, oracle, published, episode_seconds=1.0)
