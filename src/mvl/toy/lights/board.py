"""Boards of Lights-Out as bit masks: what the buttons do, whether all boards can be reached, and exact distances."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from mvl.checks import Range
from mvl.errors import UsageError

BUTTONS = Range(2, 25, whole=True)
"""Buttons of a board; the table of distances has a byte for each of its 2^buttons boards."""
NEAR = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
"""What a button toggles: its own light and those beside it, as (rows, columns) from it."""


class Size(NamedTuple):
    rows: int
    columns: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"


class Board:
    """A grid of lights, each with a button. A board is a whole number whose bit i is the light i, counted row by row.

    Buttons commute and undo themselves, so what matters of a way is the set of buttons that are pressed an odd number of times.
    Boards on which two sets do the same are refused: on these, some boards cannot be reached from others.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.size, self.buttons = Size(rows, columns), rows * columns
        if self.buttons not in BUTTONS:
            raise UsageError(f"a board must have {BUTTONS.low} to {BUTTONS.high} buttons; {self.size} has {self.buttons}.")
        self.presses = np.array([self._press(button) for button in range(self.buttons)], np.uint32)
        if (found := rank(self.presses.tolist())) < self.buttons:
            raise UsageError(
                f"on a {self.size} board only 1 in {2 ** (self.buttons - found)} boards can be solved: its {self.buttons} "
                f"buttons have rank {found} over GF(2); choose a size of full rank, such as 3x3, 4x5 or 4x6."
            )

    def _press(self, button: int) -> int:
        """The mask of the lights that a button toggles."""
        row, column = divmod(button, self.size.columns)
        places = [(row + down, column + right) for down, right in NEAR]
        lit = [(r, c) for r, c in places if 0 <= r < self.size.rows and 0 <= c < self.size.columns]
        return sum(1 << (r * self.size.columns + c) for r, c in lit)

    @cached_property
    def distances(self) -> np.ndarray:
        """The least number of presses between two boards, (2^buttons,) uint8, by their exclusive or.

        Every set of buttons makes another board, and all boards are made by one. So the boards at distance d are those of the
        sets of d buttons, and the search needs no frontier: with each button, the boards reached so far are reached with and
        without it. The result is that of a breadth-first search (`tests/toy` compares them).
        """
        boards, presses = np.zeros(1, np.uint32), np.zeros(1, np.uint8)
        for press in self.presses:
            boards, presses = np.concatenate([boards, boards ^ press]), np.concatenate([presses, presses + np.uint8(1)])
        found = np.empty(len(boards), np.uint8)
        found[boards] = presses
        return found

    def after(self, boards: np.ndarray, buttons: np.ndarray) -> np.ndarray:
        """The boards after a press of a button on each."""
        changed: np.ndarray = boards ^ self.presses[buttons]
        return changed

    def lights(self, boards: np.ndarray) -> np.ndarray:
        """Boards (...) as lights (..., buttons) of 0 and 1."""
        return (boards[..., None] >> np.arange(self.buttons, dtype=np.uint32) & 1).astype(np.float32)

    def random(self, generator: np.random.Generator, *shape: int) -> np.ndarray:
        """Random boards, all equally likely."""
        return generator.integers(1 << self.buttons, size=shape, dtype=np.uint32)

    def random_at(self, generator: np.random.Generator, distances: np.ndarray) -> np.ndarray:
        """Random boards at these distances (n,) from the board without light."""
        order = generator.random((len(distances), self.buttons)).argsort(axis=1)
        pressed = np.where(order < distances[:, None], self.presses, np.uint32(0))
        made: np.ndarray = np.bitwise_xor.reduce(pressed, axis=1)
        return made


def rank(masks: list[int]) -> int:
    """Rank over GF(2) of vectors that are given as bit masks."""
    basis: list[int] = []
    for mask in masks:
        for vector in basis:
            mask = min(mask, mask ^ vector)
        if mask:
            basis.append(mask)
    return len(basis)
