"""What the families of OGBench share: names, environments, episodes, downloads, published settings."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mvl.batches import GoalMix
from mvl.data.download import Report, pull, sources
from mvl.data.sources.npz import folders
from mvl.extras import check_simulators
from mvl.tasks.simulator import Start, in_space
from mvl.tasks.task import Settings, Task

GOALS = 5
"""Every environment of OGBench has five evaluation goals."""
FUTURE = GoalMix(current=0.0, trajectory=1.0, random=0.0, geometric=False)
ACTOR_GOALS = {
    "stitch": GoalMix(current=0.0, trajectory=0.5, random=0.5, geometric=False),
    "explore": GoalMix(current=0.0, trajectory=0.0, random=1.0, geometric=False),
}
"""Goals that the policy is trained on, for kinds of data where they are not only later states of the episode (OGBench)."""


def task_name(family: str, variant: str, kind: str, oracle: bool = False) -> str:
    """For example `pointmaze-medium-navigate-v0`; with oracle goals `pointmaze-medium-navigate-oraclerep-v0`."""
    return "-".join(filter(None, (family, variant, kind, "oraclerep" if oracle else "", "v0")))


def ogbench_task(family: str, variant: str, kind: str, oracle: bool = False, **attributes: Any) -> Task:
    """A task of OGBench; `attributes` are those of `Task` that the family sets. `goal` is used for oracle goals only."""
    name, dataset = task_name(family, variant, kind, oracle), task_name(family, variant, kind)
    world = "-".join(filter(None, (family, variant)))
    if not oracle:
        attributes |= {"goal": None, "goal_columns": ()}
    shared: dict[str, Any] = {
        "simulator": OgbenchSimulator,
        "fetch": fetch,
        "origin": "download",
        "camera": _custom_camera,
        "check": partial(check_simulators, name),
        "limit": partial(_limit, f"{world}-v0"),
    }
    return Task(name=name, dataset=dataset, env=partial(make_env, name), goals=GOALS, world=world, **{**shared, **attributes})


def fetch(name: str, folder: Path | None, addresses: list[str] | None, report: Callable[[str], Report]) -> list[Path]:
    """Download both files of a dataset, by default into the ogbench package's own folder."""
    return pull(name, folder or folders()[0], sources(addresses), report)


def make_env(name: str, **options: Any) -> Any:
    """An environment of OGBench without its data."""
    import ogbench

    return ogbench.make_env_and_datasets(name, env_only=True, **options)


def _custom_camera(env: Any) -> Any:
    return env.custom_camera


def _limit(environment: str) -> int:
    import gymnasium
    import ogbench  # noqa: F401  (registers its environments)

    return gymnasium.spec(environment).max_episode_steps or 1


class OgbenchSimulator:
    """An environment of OGBench, seeded so that an episode depends only on its start and the actions."""

    observation: np.ndarray

    def __init__(self, task: Task) -> None:
        self.env: Any = task.make_env()
        self.keeps_goal_state = False
        self.goal_state: tuple[Any, Any] | None = None
        """MuJoCo's model and data with everything at its goal, if `keeps_goal_state`."""

    def reset(self, start: Start) -> tuple[np.ndarray, np.ndarray]:
        self.seed, self.steps, self.done, self.success = start.seed, 0, False, [False]
        options: dict[str, Any] = {"task_id": start.goal}
        if self.keeps_goal_state:
            self.env.unwrapped.render, options["render_goal"] = self._keep_goal_state, True
        np.random.seed(self.seed)  # OGBench draws from the global generator
        self.env.action_space.seed(self.seed)
        observation, info = self.env.reset(seed=self.seed, options=options)
        self.observation = observation
        return observation, info["goal"]

    def step(self, action: np.ndarray) -> np.ndarray:
        if self.done:
            return self.observation
        self.steps += 1
        np.random.seed((self.seed + self.steps) % 2**32)
        self.observation, _, terminated, truncated, info = self.env.step(in_space(action, self.env.action_space))
        self.done, self.success = bool(terminated or truncated), [bool(info["success"])]
        return self.observation

    def _keep_goal_state(self) -> None:
        """Called by the environment at a reset, when it has moved everything to its goal to render it."""
        env = self.env.unwrapped
        self.goal_state = copy.copy(env.model), copy.copy(env.data)  # colors are part of the model


@dataclass(frozen=True)
class Published:
    """Hyperparameters of a task from OGBench's and TRL's tables and the paper's tables 5 and 6."""

    kind: str
    """How the data was collected."""
    alphas: dict[str, float]
    """Behavior-cloning coefficient of the policy `gradient`, by the value it maximizes; `transitive` for all other values."""
    distance_power: float
    """Setting of the transitive value."""
    size: int = 256
    """Length of a represented goal."""
    beta: float = 0.001
    """Weight of VIB's information bottleneck."""
    expectile: float = 0.9
    """Setting of the dual representation."""
    subgoal_steps: int = 25
    """Steps from a state to its sub-goal in HIQL."""
    discount: float = 0.99

    def settings(self, value: str) -> Settings:
        """Settings of the parts and the learning for a recipe with this value."""
        alpha = 10.0 if self.kind == "explore" else 3.0
        parts: dict[str, dict[str, Any]] = {
            "vib": {"size": self.size, "beta": self.beta},
            "vip": {"size": self.size},
            "tra": {"size": self.size},
            "byol": {"size": self.size},
            "dual": {"size": self.size, "expectile": self.expectile},
            "transitive": {"distance_power": self.distance_power},
            "gradient": {"alpha": self.alphas.get(value, self.alphas["transitive"])},
            "hierarchical": {"low_alpha": alpha, "high_alpha": alpha, "subgoal_steps": self.subgoal_steps},
        }
        # Without a value nothing tells good actions for a random goal from bad ones, so only reached goals are imitated.
        actor_goals = FUTURE if value == "absent" else ACTOR_GOALS.get(self.kind, FUTURE)
        return Settings(parts, {"discount": self.discount, "actor_goals": actor_goals})


def alphas(implicit_q: float, contrastive: float, quasimetric: float, transitive: float) -> dict[str, float]:
    """Behavior-cloning coefficients, by the value that the policy maximizes."""
    return {"implicit_q": implicit_q, "contrastive": contrastive, "quasimetric": quasimetric, "transitive": transitive}
