"""Oracle goals: what a task is really about, read from the simulator's state (OGBench's `-oraclerep` tasks)."""

import numpy as np

from mvl.data.names import TaskName

BALL = 15
"""Where the ball's position begins in antsoccer's `qpos`."""
OBJECTS = 14
"""Where objects begin in the arm's `qpos`; a cube takes seven numbers, the position first."""
CENTER, SCALE = np.array([0.425, 0.0, 0.0]), 10.0
DRAWER, WINDOW = 18.0, 15.0
SCENE_BUTTONS = 2
CUBES = {"single": 1, "double": 2, "triple": 3, "quadruple": 4, "octuple": 8}


def columns(task: TaskName) -> tuple[str, ...]:
    """The arrays of a dataset file that the oracle reads."""
    return {"puzzle": ("button_states",), "scene": ("qpos", "button_states")}.get(task.family, ("qpos",))


def oracle_goals(task: TaskName, state: dict[str, np.ndarray]) -> np.ndarray:
    """What the oracle says of every row, (rows, g): where the agent, the ball, the cubes are, what the buttons show."""
    if task.family == "puzzle":
        return state["button_states"].astype(np.float32)
    qpos = state["qpos"]
    if task.family == "cube":
        return _cubes(qpos, CUBES[task.variant]).astype(np.float32)
    if task.family == "scene":
        drawer = OBJECTS + 7 + SCENE_BUTTONS
        parts = [_cubes(qpos, 1), state["button_states"], qpos[:, [drawer]] * DRAWER, qpos[:, [drawer + 1]] * WINDOW]
        return np.concatenate(parts, axis=1).astype(np.float32)
    first = BALL if task.family == "antsoccer" else 0
    return qpos[:, first : first + 2].astype(np.float32)


def _cubes(qpos: np.ndarray, count: int) -> np.ndarray:
    places = [qpos[:, OBJECTS + 7 * i : OBJECTS + 7 * i + 3] for i in range(count)]
    return np.concatenate([(place - CENTER) * SCALE for place in places], axis=1)
