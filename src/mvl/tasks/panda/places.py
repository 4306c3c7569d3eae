"""Where the object stands and where it is to end, in demonstrations and in evaluations; lengths in m, angles in rad."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mvl.tasks.panda.scene import SIDE

FREE = ((0.38, -0.24), (0.62, 0.24))
"""Opposite corners of the part of the table where an object may stand."""
TURN = 0.6
"""Largest angle to which an object is turned."""
APART = 0.12
"""Smallest distance between start and end of an object that is put down elsewhere."""
LIFTED, HELD = 0.1, (0.1, 0.2)
"""Height to which an object is lifted from a mark, and range of heights at which it is held in free tasks."""
PUT_BACK = (0.005, 0.05)
"""Largest deviation in x, y and in the angle of an object that is put on a mark again."""
MARKS = ((0.40, -0.18, 0.3), (0.42, 0.16, -0.4), (0.50, -0.02, 0.0), (0.59, -0.15, -0.3), (0.60, 0.18, 0.5))
"""Places (x, y, angle) where the object is lifted."""
ENDS = ((0.42, 0.11, 0.2), (0.42, 0.23, 0.4), (0.51, 0.17, 0.0), (0.60, 0.11, -0.2), (0.60, 0.23, 0.3))
"""Places where the object is put down; it comes from the mirror image on the other side of the arm. So an open gripper there
means that the object was moved, which could not be told from the arm alone otherwise."""
GOALS_FILE = Path(__file__).parent / "goals.json"


class Place(NamedTuple):
    """Where an object stands, or is held."""

    x: float
    y: float
    height: float
    """Of the object's center."""
    angle: float
    """About the vertical axis."""


class Layout(NamedTuple):
    """What is asked of an episode."""

    start: Place
    """Where the object stands at the beginning."""
    end: Place
    """Where it is to be at the end."""


class Goal(NamedTuple):
    """An evaluation goal: the end of a demonstration."""

    layout: Layout
    observation: np.ndarray  # (15,) last observation, with the object


def marked(number: int, puts_down: bool, generator: np.random.Generator) -> Layout:
    """A layout at one of the marks, from 0: the object is put down at the mark's end, or lifted where it stands."""
    place = _on_table(*(ENDS if puts_down else MARKS)[number])
    if puts_down:
        return Layout(put_back(place._replace(y=-place.y, angle=-place.angle), generator), place)
    start = put_back(place, generator)
    return Layout(start, start._replace(height=LIFTED))


def put_back(place: Place, generator: np.random.Generator) -> Place:
    """The same place, as exactly as a person meets it."""
    x, y = generator.uniform(-PUT_BACK[0], PUT_BACK[0], 2)
    return place._replace(x=place.x + x, y=place.y + y, angle=place.angle + generator.uniform(-PUT_BACK[1], PUT_BACK[1]))


def free(puts_down: bool, generator: np.random.Generator, end: Place | None = None) -> Layout:
    """A layout with the object anywhere on the table, and a random end unless it is given."""
    if end is None:
        end = _anywhere(generator)
        end = end if puts_down else end._replace(height=generator.uniform(*HELD))
    start = _anywhere(generator)
    while np.hypot(start.x - end.x, start.y - end.y) < APART:
        start = _anywhere(generator)
    return Layout(start, end)


def _anywhere(generator: np.random.Generator) -> Place:
    x, y = generator.uniform(*FREE)
    return _on_table(x, y, generator.uniform(-TURN, TURN))


def _on_table(x: float, y: float, angle: float) -> Place:
    return Place(float(x), float(y), SIDE / 2, float(angle))


@cache
def goals(name: str) -> list[Goal]:
    """The five evaluation goals of `reach-grasp`, `pick-place` or one of them with `-object`."""
    saved: list[dict[str, Any]] = json.loads(GOALS_FILE.read_text())[name]
    return [Goal(Layout(Place(*goal["start"]), Place(*goal["end"])), np.array(goal["observation"], np.float32)) for goal in saved]
