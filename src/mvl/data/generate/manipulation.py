"""Arm data, made as OGBench's: its own oracles move cubes, press buttons, pull drawers and windows, one target after another."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mvl.data.generate.episodes import Size, columns_of
from mvl.data.names import TaskName
from mvl.data.oracle import CUBES, OBJECTS
from mvl.errors import MvlError

ROWS = 1001
NOISE_SCALE = np.array([1.0, 1.0, 1.0, 3.0, 10.0])
"""Noise on the five action dimensions (position, yaw, gripper) in units of the episode's own level."""
MOST_NOISE = 0.1
"""The level of an episode is uniform up to this."""
ATTEMPTS = 20
"""An episode in which the scene breaks is made again, at most this often."""


def size(task: TaskName) -> Size:
    """Episodes and rows per episode of the published set."""
    episodes = 3000 if (task.family, task.variant) in (("puzzle", "4x5"), ("cube", "triple")) else 1000
    episodes = 5000 if (task.family, task.variant) in (("puzzle", "4x6"), ("cube", "quadruple")) else episodes
    return Size(episodes, ROWS, episodes // 10)


def oracles(env: Any, task: TaskName) -> dict[str, Any]:
    """What to do about each kind of target: follow a smooth noisy plan (play), or react to where things are (noisy)."""
    closed = {"gripper_always_closed": task.family == "puzzle"}
    if task.kind == "play":
        from ogbench.manipspace.oracles.plan import button_plan, cube_plan, drawer_plan, window_plan

        plans = {"env": env, "segment_dt": 0.4, "noise": 0.1, "noise_smoothing": 0.5}
        return {
            "cube": cube_plan.CubePlanOracle(**plans),
            "button": button_plan.ButtonPlanOracle(**plans, **closed),
            "drawer": drawer_plan.DrawerPlanOracle(**plans),
            "window": window_plan.WindowPlanOracle(**plans),
        }
    from ogbench.manipspace.oracles.markov import button_markov, cube_markov, drawer_markov, window_markov

    reacts = {"env": env, "min_norm": 0.4}
    return {
        "cube": cube_markov.CubeMarkovOracle(**reacts),
        "button": button_markov.ButtonMarkovOracle(**reacts, **closed),
        "drawer": drawer_markov.DrawerMarkovOracle(**reacts),
        "window": window_markov.WindowMarkovOracle(**reacts),
    }


class Maker:
    """One environment and its oracles; an episode is a pure function of its seed."""

    def __init__(self, task: TaskName) -> None:
        import ogbench

        self.task = task
        made = ogbench.make_env_and_datasets(str(task), env_only=True, mode="data_collection", terminate_at_goal=False)
        self.env: Any = made.unwrapped
        self.oracles = oracles(self.env, task)

    def episode(self, seed: int) -> dict[str, np.ndarray]:
        """Rows of one episode: observations, actions, terminals and the simulator's state."""
        for attempt in range(ATTEMPTS):
            rows = self._attempt(seed + attempt * 2**32)
            if rows is not None:
                return columns_of(rows)
        raise MvlError(
            f"{self.task}: the scene broke in each of {ATTEMPTS} attempts at the episode of seed {seed}; try another --seed."
        )

    def _attempt(self, seed: int) -> list[dict[str, np.ndarray]] | None:
        generator = np.random.default_rng(seed)
        np.random.seed(generator.integers(2**32, dtype=np.uint32))  # the oracles draw from NumPy's global generator
        observation, info = self.env.reset(seed=int(generator.integers(2**31)))
        stacking, disturb = self._stacking(generator), self._disturbance(generator)
        oracle = self._start(observation, info)
        rows = []
        for _ in range(ROWS):
            action = np.clip(disturb(oracle.select_action(observation, info)), -1, 1).astype(np.float32)
            before = observation
            observation, _, _, _, info = self.env.step(action)
            rows.append(self._row(before, action, info))
            if oracle.done:
                observation, info = self.env.set_new_target(p_stack=stacking)
                oracle = self._start(observation, info)
        return rows if self._healthy(rows) else None

    def _start(self, observation: np.ndarray, info: dict[str, Any]) -> Any:
        oracle = self.oracles[info["privileged/target_task"]]
        oracle.reset(observation, info)
        return oracle

    def _stacking(self, generator: np.random.Generator) -> float:
        """How often a cube is put on another one, for this episode."""
        ranges = {"single": (0.0, 0.0), "double": (0.0, 0.25), "triple": (0.05, 0.35), "quadruple": (0.1, 0.5)}
        return generator.uniform(*ranges[self.task.variant]) if self.task.family == "cube" else 0.5

    def _disturbance(self, generator: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        if self.task.kind == "play":
            return lambda action: action
        level = generator.uniform(0, MOST_NOISE) * NOISE_SCALE
        wild = 0.2 if self.task.family == "puzzle" else 0.1

        def disturb(action: np.ndarray) -> np.ndarray:
            if generator.uniform() < wild:
                return generator.uniform(-1, 1, 5)
            return action + generator.normal(0, level)

        return disturb

    def _row(self, observation: np.ndarray, action: np.ndarray, info: dict[str, Any]) -> dict[str, np.ndarray]:
        row = {"observations": observation, "actions": action, "qpos": info["prev_qpos"], "qvel": info["prev_qvel"]}
        return {**row, "button_states": info["prev_button_states"]} if "prev_button_states" in info else row

    def _healthy(self, rows: list[dict[str, np.ndarray]]) -> bool:
        """Nothing flew off or fell through the table: every cube stays within reach."""
        if self.task.family == "puzzle":
            return True
        count = CUBES[self.task.variant] if self.task.family == "cube" else 1
        heights = np.array([row["qpos"][OBJECTS + 2 : OBJECTS + 7 * count : 7] for row in rows])
        return bool((heights > -0.05).all() and (heights < 1.0).all())
