"""HumanoidMaze (OGBench). Its data can only be downloaded."""

from functools import partial
from itertools import product

from mvl.tasks.maze import first_two, load_maze
from mvl.tasks.ogbench import Published, alphas, ogbench_task
from mvl.tasks.task import MAZE_VIEW, Task


def tasks() -> list[Task]:
    return [_task(*choice) for choice in product(("medium", "large", "giant"), ("navigate", "stitch"), (False, True))]


def _task(variant: str, kind: str, oracle: bool) -> Task:
    power = 0.0 if variant == "medium" else 0.1
    published = Published(kind, alphas(0.1, 0.1, 0.001, 0.1), power, subgoal_steps=100, discount=0.995)
    return ogbench_task(
        "humanoidmaze", variant, kind, oracle,
        goal=first_two, goal_columns=("qpos",), settings=published.settings,
        maze=partial(load_maze, f"humanoidmaze-{variant}-{kind}-v0"), metric=True, view=MAZE_VIEW,
    )  # fmt: skip
