"""The environments for recordings: an action is where each joint is to go from its present position, in rad, and the gripper's
target, 1 closed and 0 open.

For policies that learned from the recordings of `mvl data generate --raw`, imported like those of a real arm:
`mvl data import demos --to demos.npz --deltas --rescale`, and
`mvl train demos.npz --env mvl.tasks.panda.lab:reach_grasp --goals 5`.
"""

from functools import partial
from typing import Any

import numpy as np

from mvl.tasks.panda import check_installed, job
from mvl.tasks.panda.disturbances import DISTURBED, IDEAL, Disturbances
from mvl.tasks.panda.environment import DELTA, JOINTS, LEAD, Panda, make_env


def reach_grasp() -> Any:
    """An object to grasp."""
    return _from_positions("reach-grasp", IDEAL)


def pick_place() -> Any:
    """An object to put elsewhere."""
    return _from_positions("pick-place", IDEAL)


def reach_grasp_disturbed() -> Any:
    """An object to grasp, with an arm that is not ideal."""
    return _from_positions("reach-grasp", DISTURBED)


def pick_place_disturbed() -> Any:
    """An object to put elsewhere, with an arm that is not ideal."""
    return _from_positions("pick-place", DISTURBED)


def _from_positions(name: str, disturbances: Disturbances) -> Any:
    check_installed()
    from gymnasium.spaces import Box
    from gymnasium.wrappers import TimeLimit, TransformAction

    wanted = job(name, sees_object=False)
    env = make_env(wanted, disturbances)
    space = Box(np.append([-LEAD] * JOINTS, 0).astype(np.float32), np.append([LEAD] * JOINTS, 1).astype(np.float32))
    return TimeLimit(TransformAction(env, partial(_change_of_target, env), space), wanted.limit)


def _change_of_target(env: Panda, action: np.ndarray) -> np.ndarray:
    """An action of the environment that has the effect of one from the present positions."""
    change = env.data.qpos[:JOINTS] + action[:JOINTS] - env.target
    return np.append(np.clip(change / DELTA, -1, 1), 2 * action[JOINTS] - 1)
