"""AntMaze (OGBench): an ant that walks. Data is generated with a policy that was trained online (`mvl.tasks.walker`)."""

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

from mvl.tasks.maze import MAZES, MazeGenerator, maze_size, maze_task
from mvl.tasks.ogbench import Published, alphas
from mvl.tasks.task import Task
from mvl.tasks.walker.gait import load, save, walk

ACTION_NOISE = 0.2
"""Standard deviation of the noise on every joint's action in generated data."""


def tasks() -> list[Task]:
    choices = product(MAZES, ("navigate", "stitch", "explore"), (False, True))
    return [_task(*choice) for choice in choices if choice[:2] != ("giant", "explore")]  # which OGBench does not have


def _task(variant: str, kind: str, oracle: bool) -> Task:
    coefficients = alphas(0.01, 0.003, 0.001, 0.7) if kind == "explore" else alphas(0.3, 0.1, 0.003, 0.7)
    published = Published(
        kind, coefficients, 0.0, beta=0.003 if variant == "large" else 0.001, discount=0.995 if variant == "giant" else 0.99
    )
    return maze_task(
        "antmaze", variant, kind, oracle, published,
        generator=partial(_generator, variant, kind), size=maze_size(variant, kind), episode_seconds=0.9,
    )  # fmt: skip


def _generator(variant: str, kind: str) -> MazeGenerator:
    walker = load()
    walk_towards = lambda observation, direction: walk(walker, observation[2:], direction)
    return MazeGenerator("antmaze", variant, kind, walk_towards, ACTION_NOISE)


def train_walker(to: Path, steps: int, seed: int, report: Callable[[int, int], None]) -> str:
    """Train a walker in the way of the one that ships with mvl, write it to a file, and return how well it walks."""
    from mvl.tasks.walker.training import measure_gait, train_ant

    walker = train_ant(steps, seed, report)
    save(to, walker, {"command": f"mvl data expert ant --steps {steps} --seed {seed}"})
    gait = measure_gait(walker)
    return f"{gait.speed:.3f} m per step in the commanded direction, {gait.falls:.1f} falls per 1000 steps"


EXPERTS = {"ant": train_walker}
