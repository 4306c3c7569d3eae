"""A kinematic arm with seven joints and a gripper, above a table with a box on it: what moves, and what is in the way."""

import numpy as np

JOINTS = 7
RATE = 20
"""Steps per second."""
REACH = 0.06
"""Largest change of a joint's target in one step, in radians."""
LINKS = (0.34, 0.40, 0.40, 0.16)
"""Distances between base, shoulder, elbow, wrist and hand, in meters."""
LIMITS = np.array([2.9, 2.0, 2.9, 2.0, 2.9, 2.0, 3.0])
"""Joints turn this far to both sides, in radians."""
HOME = np.array([0.0, 0.6, 0.0, 1.4, 0.0, 0.9, 0.0])
LAG, NOISE = 0.4, 0.002
"""Share of a step's motion that comes from the step before, and standard deviation of each joint's motion, in radians."""
GRIP = 0.25
"""Change of the gripper's opening in one step; the opening is 0 (closed) to 1."""
CLEARANCE = 0.04
"""Least height of elbow, wrist and hand above the table, in meters."""
MARGIN = 0.04
"""Distance from table and box that people keep, in meters."""
BOX = np.array([[0.35, -0.12, 0.0], [0.70, 0.12, 0.40]])
"""Lower and upper corner of the box, in meters."""


def places(joints: np.ndarray) -> np.ndarray:
    """Positions of elbow, wrist and hand in meters, (..., 7) -> (..., 3, 3). Joints turn about z and y in turn."""
    turn, place, found = np.eye(3), np.array([0.0, 0.0, LINKS[0]]), []
    for link in range(3):
        turn = turn @ _about_z(joints[..., 2 * link]) @ _about_y(joints[..., 2 * link + 1])
        place = place + LINKS[link + 1] * turn[..., :, 2]
        found.append(place)
    return np.stack(found, axis=-2)


def _about_z(angle: np.ndarray) -> np.ndarray:
    c, s, zero, one = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([c, -s, zero, s, c, zero, zero, zero, one], axis=-1).reshape(*angle.shape, 3, 3)


def _about_y(angle: np.ndarray) -> np.ndarray:
    c, s, zero, one = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([c, zero, s, zero, one, zero, -s, zero, c], axis=-1).reshape(*angle.shape, 3, 3)


def free(joints: np.ndarray, margin: float = 0.0) -> np.ndarray:
    """Whether configurations (..., 7) are within the limits and further than a margin, in meters, from the table and the box."""
    points = places(joints)
    halfway = (points[..., 1:, :] + points[..., :-1, :]) / 2
    points = np.concatenate([points, halfway], axis=-2)
    in_box = ((points > BOX[0] - margin) & (points < BOX[1] + margin)).all(axis=-1)
    clear = (points[..., 2] > CLEARANCE + margin) & ~in_box
    return clear.all(axis=-1) & (np.abs(joints) <= LIMITS).all(axis=-1)


def random_joints(random: np.random.Generator) -> np.ndarray:
    """A configuration away from table and box, drawn uniformly around the home position."""
    while True:
        joints = HOME + random.uniform(-1, 1, JOINTS) * [1.2, 0.7, 0.8, 0.8, 0.9, 0.8, 1.0]
        if free(joints, MARGIN):
            return joints


class Arm:
    """The arm's state: joints in radians, their last motion, and the gripper's opening."""

    def __init__(self, joints: np.ndarray, opening: float) -> None:
        self.joints, self.motion, self.opening = joints, np.zeros(JOINTS), float(opening)

    @property
    def observation(self) -> np.ndarray:
        """Seven joint positions and the opening, (8,)."""
        return np.append(self.joints, self.opening)

    def move(self, action: np.ndarray, random: np.random.Generator) -> None:
        """One step: seven changes of joint targets in radians, and the gripper, which opens if the last number is positive."""
        wanted = np.clip(action[:JOINTS], -REACH, REACH)
        self.motion = LAG * self.motion + (1 - LAG) * wanted
        after = np.clip(self.joints + self.motion + NOISE * random.normal(size=JOINTS), -LIMITS, LIMITS)
        if free(after):
            self.joints = after
        else:  # something is in the way
            self.motion = np.zeros(JOINTS)
        self.opening = float(np.clip(self.opening + (GRIP if action[JOINTS] > 0 else -GRIP), 0.0, 1.0))
