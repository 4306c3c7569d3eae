"""A family of tasks in one file: a point in an open square. Tests install it as a plug-in."""

import gymnasium
import numpy as np

from mvl.data.episodes import Size, columns_of
from mvl.tasks.maze import Maze
from mvl.tasks.task import MAZE_VIEW, Settings, Task

STEP, SIDE, ROWS = 0.1, 4.0, 41
GOALS = np.array([[0.5, 0.5], [3.5, 0.5], [3.5, 3.5]], np.float32)


class PlaneEnv(gymnasium.Env):
    """Actions move the point by a tenth; an episode is about one of three goals."""

    observation_space = gymnasium.spaces.Box(0, SIDE, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(0, SIDE, 2).astype(np.float32)
        self.goal = GOALS[(options or {"task_id": 1})["task_id"] - 1]
        return self.place, {"goal": self.goal}

    def step(self, action):
        self.place = np.clip(self.place + STEP * np.asarray(action, np.float32), 0, SIDE)
        reached = bool(np.linalg.norm(self.place - self.goal) < 0.5)
        return self.place, 0.0, reached, False, {"success": reached}


class PlaneGenerator:
    """Straight noisy walks between random places."""

    def episode(self, seed):
        draw = np.random.default_rng(seed)
        place, rows = draw.uniform(0, SIDE, 2).astype(np.float32), []
        target = draw.uniform(0, SIDE, 2)
        for _ in range(ROWS):
            way = target - place
            action = np.clip(way / (np.linalg.norm(way) + 1e-6) + draw.normal(0, 0.2, 2), -1, 1).astype(np.float32)
            rows.append({"observations": place, "actions": action})
            place = np.clip(place + STEP * action, 0, SIDE).astype(np.float32)
        return columns_of(rows)


def open_square():
    return Maze(np.zeros((4, 4), int), 1.0, (0.5, 0.5))


def settings(value):
    return Settings({"mollified": {"viscosity": 0.02}}, {"discount": 0.97})


def limit():
    return 30


def tasks():
    return [
        Task(
            name=f"plane-{kind}-v0",
            dataset=f"plane-{kind}-v0",
            env=PlaneEnv,
            goals=len(GOALS),
            world="plane",
            limit=limit,
            generator=PlaneGenerator,
            size=Size(20, ROWS, 2),
            settings=settings,
            maze=open_square,
            view=MAZE_VIEW,
        )
        for kind in ("walk", "run")
    ]
