"""Powderworld data, made as OGBench's: its own behaviors fill the world, draw lines and squares, among random strokes."""

from typing import Any

import numpy as np

from mvl.data.generate.episodes import Size, columns_of
from mvl.data.names import TaskName

ROWS = 1001
STAGES = 3
"""A stroke of the brush is told in three steps: the element, then x, then y."""
RANDOM = 0.5
"""The chance, for every stroke anew, that it is a random one; the behavior waits, and goes on with the next one."""
BEHAVIORS = {"Fill": 1, "Line": 3, "Square": 3}
"""How often each is drawn, in proportion, whenever one is done."""


def size(task: TaskName) -> Size:
    """Episodes and rows per episode of the published set."""
    episodes = {"easy": 1000, "medium": 3000, "hard": 5000}[task.variant]
    return Size(episodes, ROWS, episodes // 10)


class Maker:
    """One world and what to do in it; an episode is a pure function of its seed."""

    def __init__(self, task: TaskName) -> None:
        import ogbench
        from ogbench.powderworld import behaviors

        self.env: Any = ogbench.make_env_and_datasets(str(task), env_only=True, mode="data_collection").unwrapped
        self.behaviors = [getattr(behaviors, f"{name}Behavior")(self.env) for name in BEHAVIORS]
        self.chances = np.array(list(BEHAVIORS.values())) / sum(BEHAVIORS.values())

    def episode(self, seed: int) -> dict[str, np.ndarray]:
        """Rows of one episode: observations (rows, 32, 32, 6), actions (rows,) and terminals."""
        np.random.seed(seed)  # the world and the behaviors draw from NumPy's global generator
        observation, info = self.env.reset()
        behavior = self._begin(observation, info)
        rows = []
        for step in range(ROWS):
            if step % STAGES == 0:
                if behavior.done:
                    behavior = self._begin(observation, info)
                wild = np.random.uniform() < RANDOM
                stroke = self.env.sample_semantic_action() if wild else behavior.select_action(observation, info)
            action = np.int32(self.env.semantic_action_to_action(*stroke))
            rows.append({"observations": observation, "actions": action})
            observation, _, _, _, info = self.env.step(action)
        return columns_of(rows)

    def _begin(self, observation: np.ndarray, info: dict[str, Any]) -> Any:
        behavior = self.behaviors[np.random.choice(len(self.behaviors), p=self.chances)]
        behavior.reset(observation, info)
        return behavior
