"""Ant maze data: a trained walker carries the ant where the path leads."""

from mvl.data.generate.maze import MazeMaker, size
from mvl.data.generate.walker import load, walk
from mvl.data.names import TaskName

__all__ = ["Maker", "size"]

NOISE = 0.2
"""Standard deviation of the noise on every joint's action."""


class Maker(MazeMaker):
    def __init__(self, task: TaskName) -> None:
        walker = load()
        super().__init__(task, walk=lambda observation, direction: walk(walker, observation[2:], direction), noise=NOISE)
