"""Made demonstrations of an arm with three joints and a gripper, for tests of imports and of what looks wrong."""

import numpy as np

from mvl.data.dataset import Dataset

FASTEST = 0.05
"""Longest step of a joint, in radians."""


def demonstrations(episodes=12, rows=150, seed=0):
    """Episodes as (joint angles, gripper width, joint deltas, gripper command): the arm goes from target to target."""
    generator = np.random.default_rng(seed)
    return [_demonstration(generator, rows) for _ in range(episodes)]


def _demonstration(generator, rows):
    joints, widths, deltas, commands = [np.zeros(3)], [0.0], [], []
    for row in range(rows):
        if row % 30 == 0:
            target, command = generator.uniform(-1, 1, 3), float(generator.integers(2))
        deltas.append(np.clip(0.15 * (target - joints[-1]) + generator.normal(0, 0.015, 3), -FASTEST, FASTEST))
        commands.append(command)
        joints.append(joints[-1] + deltas[-1])
        widths.append(widths[-1] + 0.2 * (0.08 * command - widths[-1]) + generator.normal(0, 1e-4))
    return np.array(joints[:-1]), np.array(widths[:-1])[:, None], np.array(deltas), np.array(commands)[:, None]


def dataset(pairs, signals=None):
    """A dataset of (observations, actions) pairs."""
    observations, actions = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    ends = np.cumsum([len(states) for states, _ in pairs]) - 1
    return Dataset.from_arrays(observations, actions, np.isin(np.arange(len(actions)), ends), signals=signals)


def clean(**sizes):
    """Pairs of observations (joints, gripper width) and actions (deltas in [-1, 1]) that nothing is wrong with."""
    return [(np.hstack([joints, width]), deltas / FASTEST) for joints, width, deltas, _ in demonstrations(**sizes)]
