"""Random play as a dataset, and episodes of a policy."""

from collections.abc import Callable

import numpy as np

from mvl.data.dataset import Dataset
from mvl.data.signals import Signal, Signals
from mvl.evaluation.rollout import Act
from mvl.toy.lights.board import Board

See = Callable[[np.ndarray], np.ndarray]
"""Boards (...) -> what a learner sees of them, (..., d); it sees the goal in the same way."""


def views(board: Board, anchors: int, generator: np.random.Generator) -> dict[str, See]:
    """The two ways to see a board: by its exact distances to some random boards, the anchors, or by its lights."""
    chosen = board.random(generator, anchors)
    return {
        "anchors": lambda boards: board.distances[boards[..., None] ^ chosen].astype(np.float32),
        "lights": board.lights,
    }


def random_play(board: Board, episodes: int, presses: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Boards (episodes, presses + 1), the first of which is random, and the random buttons (episodes, presses)."""
    buttons = generator.integers(board.buttons, size=(episodes, presses))
    toggled = np.concatenate([board.random(generator, episodes, 1), board.presses[buttons]], axis=1)
    return np.bitwise_xor.accumulate(toggled, axis=1), buttons


def as_dataset(boards: np.ndarray, buttons: np.ndarray, see: See, levels: int) -> Dataset:
    """Episodes as they are seen; an action is the number of a button."""
    observations = see(boards)
    last = np.zeros_like(boards, bool)
    last[:, -1] = True
    padded = np.pad(buttons, ((0, 0), (0, 1)))  # the last row of an episode has no action
    signals = Signals(actions=(Signal("button", ("button",), levels=tuple(map(float, range(levels)))),))
    rows = observations.reshape(-1, observations.shape[-1]), padded.reshape(-1, 1), last.ravel()
    return Dataset.from_arrays(*rows, source="random play", signals=signals)


def play(act: Act, board: Board, see: See, starts: np.ndarray, goals: np.ndarray, seeds: int) -> np.ndarray:
    """The boards of each seed's policy from its starts, (buttons + 1, seeds, episodes): it has one press per button of the board.

    Starts and goals are (episodes,), the same for all seeds. An episode that has reached its goal stays there.
    """
    boards = [np.tile(starts, (seeds, 1))]
    wanted, numbers = np.tile(goals, (seeds, 1)), np.arange(len(starts))
    for time in range(board.buttons):
        here = boards[-1]
        pressed = act(see(here), see(wanted), numbers, time, here == wanted)[..., 0].astype(int)
        boards.append(np.where(here == wanted, here, board.after(here, pressed)))
    return np.stack(boards)
