"""A scripted demonstrator that varies as people do: in speed, with pauses, and not always on the shortest way."""

from typing import NamedTuple

import numpy as np
from arm import JOINTS, MARGIN, REACH, Arm, free, random_joints

STRAYING, MEMORY = 0.3, 0.9
"""Standard deviation of the deviation from the intended motion, relative to its speed, and how much of it is kept in a step."""

PATIENCE = 200
"""Steps after which an approach is given up."""

Row = tuple[np.ndarray, np.ndarray]
"""An observation and the action that follows."""


class Demonstration(NamedTuple):
    """One recorded episode. The last action leads beyond the last observation."""

    observations: np.ndarray  # (steps, 8) joints in radians, opening of the gripper
    actions: np.ndarray  # (steps, 8) changes of joint targets in radians; the gripper: 1 opens, -1 closes


def demonstrate(random: np.random.Generator) -> Demonstration:
    """One or two places are visited, the gripper opens or closes at each, and the arm comes to rest.

    An attempt in which the arm gets stuck at table or box is not recorded.
    """
    while True:
        rows = attempt(random)
        if rows:
            observations, actions = zip(*rows, strict=True)
            return Demonstration(np.array(observations), np.array(actions))


def attempt(random: np.random.Generator) -> list[Row]:
    """The rows of one demonstration; none if the arm gets stuck."""
    arm, rows = Arm(random_joints(random), random.integers(2)), []
    grip = 1.0 if arm.opening > 0.5 else -1.0
    for _ in range(random.integers(1, 3)):
        waypoints = route(arm.joints, random_joints(random), random)
        if not waypoints:
            return []
        for waypoint in waypoints:
            if not _approach(arm, waypoint, grip, random, rows):
                return []
            if random.random() < 0.3:
                _wait(arm, grip, random.integers(3, 12), random, rows)
        grip = float(random.choice([-1.0, 1.0]))
        _wait(arm, grip, random.integers(4, 10), random, rows)
    return rows


def route(start: np.ndarray, end: np.ndarray, random: np.random.Generator) -> list[np.ndarray]:
    """Waypoints to the end: straight, or over a random place if something is in the way or a detour is taken; none if stuck."""
    if clear(start, end) and random.random() < 0.8:
        return [end]
    for spread in np.linspace(0.2, 1.5, 100):
        middle = (start + end) / 2 + spread * random.normal(size=JOINTS)
        if clear(start, middle) and clear(middle, end):
            return [middle, end]
    return []


def clear(start: np.ndarray, end: np.ndarray) -> bool:
    """Whether the straight line between two configurations keeps away from table and box."""
    shares = np.linspace(0, 1, 40)[:, None]
    return bool(free(start + shares * (end - start), MARGIN).all())


def _approach(arm: Arm, target: np.ndarray, grip: float, random: np.random.Generator, rows: list[Row]) -> bool:
    """Move to a target, more slowly near it, and stray from the line on the way; returns whether the target is reached."""
    speed, drift = REACH * random.uniform(0.4, 1.0), np.zeros(JOINTS)
    for _ in range(PATIENCE):
        rest = target - arm.joints
        far = np.abs(rest).max()
        if far < 0.03:
            return True
        drift = MEMORY * drift + np.sqrt(1 - MEMORY**2) * STRAYING * random.normal(size=JOINTS)
        pace = min(speed, 0.3 * far)
        _act(arm, pace * (rest / far + drift), grip, random, rows)
    return False


def _wait(arm: Arm, grip: float, steps: int, random: np.random.Generator, rows: list[Row]) -> None:
    for _ in range(steps):
        _act(arm, np.zeros(JOINTS), grip, random, rows)


def _act(arm: Arm, change: np.ndarray, grip: float, random: np.random.Generator, rows: list[Row]) -> None:
    action = np.append(np.clip(change, -REACH, REACH), grip)
    rows.append((arm.observation, action))
    arm.move(action, random)
