"""Small image data, and an environment whose observations are such images."""

import gymnasium
import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.signals import Signal, Signals
from mvl.encoders.impala import Impala

SHAPE = (8, 8, 3)
MOVES = Signals(actions=(Signal("move", ("move",), levels=(0.0, 1.0, 2.0)),))


def dot(place: int) -> np.ndarray:
    """A bright square in one of six columns."""
    image = np.zeros(SHAPE, np.uint8)
    image[2:5, place : place + 2] = 250
    return image


def pictured(discrete: bool = True, episodes: int = 5, rows: int = 13, seed: int = 0) -> Dataset:
    """Random walks of the square: left, stay or right."""
    random = np.random.default_rng(seed)
    moves = random.integers(0, 3, (episodes, rows))
    places = np.clip(np.cumsum(np.concatenate([random.integers(0, 6, (episodes, 1)), moves[:, :-1] - 1], axis=1), axis=1), 0, 6)
    images = np.array([dot(place) for place in places.ravel()])
    ends = np.arange(episodes * rows) % rows == rows - 1
    if discrete:
        return Dataset.from_arrays(images, moves.reshape(-1, 1), ends, signals=MOVES)
    return Dataset.from_arrays(images, random.uniform(-1, 1, (len(images), 2)), ends)


def eye(fusion: str = "early", **settings) -> Impala:
    """An encoder at toy size."""
    return Impala((4, 4), 6, fusion=fusion, **settings)


class Dots(gymnasium.Env):
    """The square is to be moved to the column of the goal."""

    observation_space = gymnasium.spaces.Box(0, 255, SHAPE, np.uint8)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        self.place = 0
        return dot(0), {"goal": dot(5)}

    def step(self, action):
        self.place = min(max(self.place + action - 1, 0), 6)
        return dot(self.place), 0.0, False, False, {"success": self.place == 5}


def make_dots():
    return gymnasium.wrappers.TimeLimit(Dots(), 6)
