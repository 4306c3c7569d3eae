"""Point-mass maze data: the point moves as it is told."""

from mvl.data.generate.maze import MazeMaker, size
from mvl.data.names import TaskName

__all__ = ["Maker", "size"]

NOISE = 0.5
"""Standard deviation of the noise on actions of length one."""


class Maker(MazeMaker):
    def __init__(self, task: TaskName) -> None:
        super().__init__(task, walk=lambda observation, direction: direction, noise=NOISE)
