"""Tasks of OGBench's robot arm: cubes to stack, a scene with drawer, window and buttons, puzzles of buttons."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from mvl.data.episodes import Size, columns_of
from mvl.errors import MvlError
from mvl.tasks.ogbench import OgbenchSimulator, Published, alphas, make_env, ogbench_task, task_name
from mvl.tasks.task import ARM_VIEW, Task

VARIANTS = {"cube": ("single", "double", "triple", "quadruple"), "scene": ("",), "puzzle": ("3x3", "4x4", "4x5", "4x6")}
CUBES = {"single": 1, "double": 2, "triple": 3, "quadruple": 4}
OBJECTS = 14
"""Index of the first object in `qpos`; a cube takes seven numbers, its position first."""
CENTER, SCALE = np.array([0.425, 0.0, 0.0]), 10.0
"""OGBench gives positions relative to this center, in tenths of a meter."""
DRAWER, WINDOW = 18.0, 15.0
"""OGBench's scales for the openings of the drawer and the window."""
SCENE_BUTTONS = 2
TRANSITIVE = {
    "cube-single": (0.7, 1.0),
    "cube": (1.0, 10.0),
    "scene": (1.0, 1.0),
    "puzzle-3x3": (0.5, 2.0),
    "puzzle": (2.0, 2.0),
}
"""TRL's distance power and behavior-cloning coefficient; variants that are not listed use those of their family."""
AT_ONCE = 16
"""Each environment takes up to 160 MB."""

ROWS = 1001
NOISE_SCALE = np.array([1.0, 1.0, 1.0, 3.0, 10.0])
"""Standard deviation of the noise on the five action dimensions (position, yaw, gripper), in units of the noise level."""
MAX_NOISE = 0.1
"""Upper limit of the noise level, which is drawn uniformly for every episode."""
EPISODE_SECONDS = {"cube": 1.5, "scene": 7.0, "puzzle": 4.5}
"""Of an episode of full length, measured on one core of an AMD EPYC (Zen 4)."""
ATTEMPTS = 20
"""How often an episode is tried if a cube leaves the table in it."""


def tasks() -> list[Task]:
    worlds = [(family, variant) for family, variants in VARIANTS.items() for variant in variants]
    return [_task(*world, kind, oracle) for world, kind, oracle in product(worlds, ("play", "noisy"), (False, True))]


def _task(family: str, variant: str, kind: str, oracle: bool) -> Task:
    power, coefficient = TRANSITIVE.get(f"{family}-{variant}") or TRANSITIVE[family]
    coefficients = alphas(1.0, 3.0, 0.3, coefficient) if kind == "play" else alphas(0.03, 0.1, 0.03, coefficient)
    published = Published(kind, coefficients, power, expectile=0.7, subgoal_steps=10)
    goal, columns = oracle_goal(family, variant)
    return ogbench_task(
        family, variant, kind, oracle,
        goal=goal, goal_columns=columns, settings=published.settings,
        simulator=ArmSimulator, at_once=AT_ONCE, view=ARM_VIEW, camera=_front,
        generator=partial(ArmGenerator, family, variant, kind), size=_size(family, variant),
        episode_seconds=EPISODE_SECONDS[family],
    )  # fmt: skip


def _front(env: Any) -> str:
    """Name of the camera that films the environment."""
    return "front"


def _size(family: str, variant: str) -> Size:
    episodes = {"puzzle-4x5": 3000, "cube-triple": 3000, "puzzle-4x6": 5000, "cube-quadruple": 5000}
    count = episodes.get(f"{family}-{variant}", 1000)
    return Size(count, ROWS, count // 10)


def oracle_goal(family: str, variant: str) -> tuple[Callable[..., np.ndarray], tuple[str, ...]]:
    """The function that computes OGBench's oracle goals (cubes, buttons, drawer, window), and the data columns it takes."""
    if family == "puzzle":
        return _buttons, ("button_states",)
    if family == "scene":
        return _scene, ("qpos", "button_states")
    return partial(_cubes, count=CUBES[variant]), ("qpos",)


def _buttons(button_states: np.ndarray) -> np.ndarray:
    return button_states.astype(np.float32)


def _cubes(qpos: np.ndarray, count: int) -> np.ndarray:
    positions = [qpos[:, OBJECTS + 7 * i : OBJECTS + 7 * i + 3] for i in range(count)]
    return np.concatenate([(position - CENTER) * SCALE for position in positions], axis=1).astype(np.float32)


def _scene(qpos: np.ndarray, button_states: np.ndarray) -> np.ndarray:
    drawer = OBJECTS + 7 + SCENE_BUTTONS
    parts = [_cubes(qpos, 1), button_states, qpos[:, [drawer]] * DRAWER, qpos[:, [drawer + 1]] * WINDOW]
    return np.concatenate(parts, axis=1).astype(np.float32)


class ArmSimulator(OgbenchSimulator):
    """An environment of OGBench with the robot arm."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        # The environment makes a new action space on every access and draws from it at a reset. Only one that is kept can be
        # seeded, so it becomes an attribute of a subclass.
        env = self.env.unwrapped
        env.__class__ = type(env.__class__.__name__, (env.__class__,), {"action_space": env.action_space})


class ArmGenerator:
    """Episodes of OGBench's scripted policies, one target after another; an episode is a pure function of its seed."""

    def __init__(self, family: str, variant: str, kind: str) -> None:
        self.name, self.family, self.variant, self.kind = task_name(family, variant, kind), family, variant, kind
        self.env: Any = make_env(self.name, mode="data_collection", terminate_at_goal=False).unwrapped
        self.oracles = _oracles(self.env, family, kind)

    def episode(self, seed: int) -> dict[str, np.ndarray]:
        """Rows of one episode: observations, actions, terminals and the simulator's state."""
        for attempt in range(ATTEMPTS):
            rows = self._attempt(seed + attempt * 2**32)
            if rows is not None:
                return columns_of(rows)
        raise MvlError(
            f"{self.name}: a cube left the table in all {ATTEMPTS} attempts at the episode of seed {seed}; try another --seed."
        )

    def _attempt(self, seed: int) -> list[dict[str, np.ndarray]] | None:
        """Rows of an episode, or None if a cube left the table."""
        generator = np.random.default_rng(seed)
        np.random.seed(generator.integers(2**32, dtype=np.uint32))  # the scripted policies draw from the global generator
        observation, info = self.env.reset(seed=int(generator.integers(2**31)))
        stacking, disturb = self._stacking(generator), self._disturbance(generator)
        oracle = self._start(observation, info)
        rows = []
        for _ in range(ROWS):
            action = np.clip(disturb(oracle.select_action(observation, info)), -1, 1).astype(np.float32)
            before = observation
            observation, _, _, _, info = self.env.step(action)
            rows.append(_row(before, action, info))
            if oracle.done:
                observation, info = self.env.set_new_target(p_stack=stacking)
                oracle = self._start(observation, info)
        return rows if self._healthy(rows) else None

    def _start(self, observation: np.ndarray, info: dict[str, Any]) -> Any:
        oracle = self.oracles[info["privileged/target_task"]]
        oracle.reset(observation, info)
        return oracle

    def _stacking(self, generator: np.random.Generator) -> float:
        """Probability in this episode that a cube is put on another one."""
        ranges = {"single": (0.0, 0.0), "double": (0.0, 0.25), "triple": (0.05, 0.35), "quadruple": (0.1, 0.5)}
        return generator.uniform(*ranges[self.variant]) if self.family == "cube" else 0.5

    def _disturbance(self, generator: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        """The function that adds noise to the actions of this episode, or replaces some by random ones."""
        if self.kind == "play":
            return lambda action: action
        level = generator.uniform(0, MAX_NOISE) * NOISE_SCALE
        random = 0.2 if self.family == "puzzle" else 0.1

        def disturb(action: np.ndarray) -> np.ndarray:
            if generator.uniform() < random:
                return generator.uniform(-1, 1, 5)
            return action + generator.normal(0, level)

        return disturb

    def _healthy(self, rows: list[dict[str, np.ndarray]]) -> bool:
        """Whether every cube stayed above the table and below the ceiling."""
        if self.family == "puzzle":
            return True
        count = CUBES[self.variant] if self.family == "cube" else 1
        heights = np.array([row["qpos"][OBJECTS + 2 : OBJECTS + 7 * count : 7] for row in rows])
        return bool((heights > -0.05).all() and (heights < 1.0).all())


def _row(observation: np.ndarray, action: np.ndarray, info: dict[str, Any]) -> dict[str, np.ndarray]:
    row = {"observations": observation, "actions": action, "qpos": info["prev_qpos"], "qvel": info["prev_qvel"]}
    return {**row, "button_states": info["prev_button_states"]} if "prev_button_states" in info else row


def _oracles(env: Any, family: str, kind: str) -> dict[str, Any]:
    """OGBench's scripted policies by kind of target: smooth noisy plans (play), or reactive ones (noisy)."""
    gripper = {"gripper_always_closed": family == "puzzle"}
    if kind == "play":
        from ogbench.manipspace.oracles.plan import button_plan, cube_plan, drawer_plan, window_plan

        plans = {"env": env, "segment_dt": 0.4, "noise": 0.1, "noise_smoothing": 0.5}
        return {
            "cube": cube_plan.CubePlanOracle(**plans),
            "button": button_plan.ButtonPlanOracle(**plans, **gripper),
            "drawer": drawer_plan.DrawerPlanOracle(**plans),
            "window": window_plan.WindowPlanOracle(**plans),
        }
    from ogbench.manipspace.oracles.markov import button_markov, cube_markov, drawer_markov, window_markov

    reactive = {"env": env, "min_norm": 0.4}
    return {
        "cube": cube_markov.CubeMarkovOracle(**reactive),
        "button": button_markov.ButtonMarkovOracle(**reactive, **gripper),
        "drawer": drawer_markov.DrawerMarkovOracle(**reactive),
        "window": window_markov.WindowMarkovOracle(**reactive),
    }
