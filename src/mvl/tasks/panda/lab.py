"""The environments in the units of recordings: joint changes in rad, and the gripper's target, 1 closed and 0 open.

For policies that learned from the recordings of `mvl data generate --raw`, imported like those of a real arm:
`mvl train demos.npz --env mvl.tasks.panda.lab:reach_grasp`.
"""

from typing import Any

import numpy as np

from mvl.tasks.panda import check_installed, job
from mvl.tasks.panda.disturbances import DISTURBED, IDEAL, Disturbances
from mvl.tasks.panda.environment import DELTA, JOINTS, make_env


def reach_grasp() -> Any:
    """An object to grasp."""
    return _in_radians("reach-grasp", IDEAL)


def pick_place() -> Any:
    """An object to put elsewhere."""
    return _in_radians("pick-place", IDEAL)


def reach_grasp_disturbed() -> Any:
    """An object to grasp, with an arm that is not ideal."""
    return _in_radians("reach-grasp", DISTURBED)


def pick_place_disturbed() -> Any:
    """An object to put elsewhere, with an arm that is not ideal."""
    return _in_radians("pick-place", DISTURBED)


def _in_radians(name: str, disturbances: Disturbances) -> Any:
    check_installed()
    from gymnasium.wrappers import RescaleAction, TimeLimit

    wanted = job(name, sees_object=False)
    low, high = np.append([-DELTA] * JOINTS, 0).astype(np.float32), np.append([DELTA] * JOINTS, 1).astype(np.float32)
    return TimeLimit(RescaleAction(make_env(wanted, disturbances), low, high), wanted.limit)
