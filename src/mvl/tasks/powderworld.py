"""Powderworld (OGBench): images and discrete actions."""

from functools import partial
from typing import Any

import numpy as np

from mvl.data.episodes import Size, columns_of
from mvl.tasks.ogbench import FUTURE, make_env, ogbench_task, task_name
from mvl.tasks.task import Settings, Task

EPISODES = {"easy": 1000, "medium": 3000, "hard": 5000}
ROWS = 1001
STAGES = 3
"""Steps of a brush stroke: the element, then x, then y."""
RANDOM = 0.5
"""Probability that a stroke is random; the scripted behavior continues with the stroke after it."""
ALPHA = 3.0
"""Inverse temperature of advantage-weighted policies."""
TEMPERATURE = 0.3
"""Randomness of the policy in evaluations, without which it can repeat a stroke forever."""
BEHAVIORS = {"Fill": 1, "Line": 3, "Square": 3}
"""Relative frequency of OGBench's scripted behaviors."""


def tasks() -> list[Task]:
    return [_task(variant) for variant in EPISODES]


def _task(variant: str) -> Task:
    return ogbench_task(
        "powderworld", variant, "play",
        images=True, settings=_published,
        generator=partial(PowderworldGenerator, variant), size=Size(EPISODES[variant], ROWS, EPISODES[variant] // 10),
        episode_seconds=2.5,
    )  # fmt: skip


def _published(value: str) -> Settings:
    """OGBench's settings, which are the same for every value."""
    parts: dict[str, dict[str, Any]] = {
        "advantage_weighted": {"alpha": ALPHA},
        "hierarchical": {"low_alpha": ALPHA, "high_alpha": ALPHA, "subgoal_steps": 10},
    }
    return Settings(parts, {"discount": 0.99, "actor_goals": FUTURE}, {"eval_temperature": TEMPERATURE})


class PowderworldGenerator:
    """Episodes of OGBench's scripted behaviors among random strokes; an episode is a pure function of its seed."""

    def __init__(self, variant: str) -> None:
        from ogbench.powderworld import behaviors

        self.env: Any = make_env(task_name("powderworld", variant, "play"), mode="data_collection").unwrapped
        self.behaviors = [getattr(behaviors, f"{name}Behavior")(self.env) for name in BEHAVIORS]
        self.probabilities = np.array(list(BEHAVIORS.values())) / sum(BEHAVIORS.values())

    def episode(self, seed: int) -> dict[str, np.ndarray]:
        """Rows of one episode: observations (rows, 32, 32, 6), actions (rows,) and terminals."""
        np.random.seed(seed)  # the environment and the behaviors draw from NumPy's global generator
        observation, info = self.env.reset()
        behavior = self._begin(observation, info)
        rows = []
        for step in range(ROWS):
            if step % STAGES == 0:
                if behavior.done:
                    behavior = self._begin(observation, info)
                random = np.random.uniform() < RANDOM
                stroke = self.env.sample_semantic_action() if random else behavior.select_action(observation, info)
            action = np.int32(self.env.semantic_action_to_action(*stroke))
            rows.append({"observations": observation, "actions": action})
            observation, _, _, _, info = self.env.step(action)
        return columns_of(rows)

    def _begin(self, observation: np.ndarray, info: dict[str, Any]) -> Any:
        """A random behavior, started at this observation."""
        behavior = self.behaviors[np.random.choice(len(self.behaviors), p=self.probabilities)]
        behavior.reset(observation, info)
        return behavior
