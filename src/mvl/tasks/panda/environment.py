"""The Gymnasium environments: a Panda that is to grasp a cube, or to put it elsewhere."""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mvl.tasks.panda.arm import FINGERS, HOME, OPENING, TIP
from mvl.tasks.panda.disturbances import IDEAL, Disturbances
from mvl.tasks.panda.places import Goal, Layout, Place, free, goals, put_back
from mvl.tasks.panda.scene import OBJECT, PLACE, SIDE, TIMESTEP, scene

if TYPE_CHECKING:
    from gymnasium import Env

    Base = Env[np.ndarray, np.ndarray]
else:
    Base = object  # this file must be importable without Gymnasium, which `make_env` adds

RATE = 20
"""Actions per second."""
DELTA = 0.06
"""Change of a joint's target that an action of 1 stands for, in rad per step."""
LEAD = 0.15
"""Largest distance of a joint from its target, in rad; an arm that is held up does not push ever harder."""
FINGER_SPEED = 0.05
"""In m/s, that of Franka's hand."""
CLOSED_BELOW = 0.046
"""Distance of the fingers below which the gripper counts as closed, in m: a little more than the cube's width."""
START_NOISE = 0.04
"""Largest deviation of a joint from its home position at the start, in rad."""
LIFT, NEAR, RESTING, SLOW = 0.03, 0.03, 0.01, 0.05
"""Of the success rules: least height of a grasped cube, largest distance of a placed one, in m, and speed, in m/s."""
TARGETS = 5
"""Intermediate targets of the joints' control per action."""
SUBSTEPS = round(1 / (RATE * TIMESTEP * TARGETS))
JOINTS, ARM, OBJECT_POSE = 7, 8, 7
"""Numbers of an observation: joints; joints and gripper; position and quaternion of the object."""
BOUNDS = np.array([[-4.0] * 7 + [0.0] + [-2.0] * 3 + [-1.0] * 4, [4.0] * 7 + [1.0] + [2.0] * 3 + [1.0] * 4], np.float32)
"""Lowest and highest numbers of an observation."""


class Job(NamedTuple):
    """What is to be done."""

    name: str
    """Of its goals."""
    puts_down: bool
    """Whether the object is to be put down elsewhere, instead of being lifted."""
    sees_object: bool
    """Whether the object's pose is observed; if so, it stands anywhere, else on one of five marks."""
    limit: int
    """Steps of an episode."""


class Panda(Base):
    """A Panda on a table with a cube. `make_env` makes a Gymnasium environment of it.

    Observation: seven joint positions in rad, the gripper (1 closed, 0 open), and in `-object` tasks the position and the
    quaternion of the cube. Action, in [-1, 1]: changes of the seven joints' targets, where 1 stands for 0.06 rad (DELTA), and
    the gripper's target, closed if positive. A goal is the last observation of a demonstration.

    Grasping succeeds when both fingers touch the cube and its lower side is at least 3 cm above the table (LIFT). Placing
    succeeds when the cube rests on the table within 3 cm of its place (NEAR) and no finger touches it; at rest is slower than
    5 cm/s (SLOW) and at most 1 cm above the table (RESTING). An episode ends with success.
    """

    def __init__(self, job: Job, disturbances: Disturbances, arm: str) -> None:
        import gymnasium
        import mujoco

        self.job, self.disturbances = job, disturbances
        self.model = scene(arm, disturbances.friction)
        self.data = mujoco.MjData(self.model)
        self.range = self.model.jnt_range[:JOINTS].T  # (2, 7)
        self.cube = self.model.body(OBJECT).id
        self.fingers = [self.model.joint(name).bodyid[0] for name in FINGERS]
        self.size = ARM + OBJECT_POSE if job.sees_object else ARM
        low, high = BOUNDS[:, : self.size]
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (JOINTS + 1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode of the goal `task_id`, from 1, or of any goal."""
        super().reset(seed=seed)
        known = goals(self.job.name)
        number = (options or {}).get("task_id") or 1 + self.np_random.integers(len(known))
        self.goal = known[number - 1]
        return self.begin(self._layout(self.goal)), {"goal": self.goal.observation[: self.size].copy()}

    def begin(self, layout: Layout) -> np.ndarray:
        """Begin an episode with this layout, and return the first observation."""
        import mujoco

        self.layout = layout
        mujoco.mj_resetData(self.model, self.data)
        self.target = np.array(HOME) + self.np_random.uniform(-START_NOISE, START_NOISE, JOINTS)
        self.opening, self.data.qpos[:JOINTS], self.data.qpos[JOINTS : JOINTS + 2] = OPENING, self.target, OPENING
        self.put_object(layout.start)
        mark = layout.end.x, layout.end.y, 0.001 if self.job.puts_down else -1.0  # below the floor, where it is not seen
        self.data.mocap_pos[self.model.body(PLACE).mocapid] = mark
        mujoco.mj_forward(self.model, self.data)
        given, rest = self.disturbances, np.append(np.zeros(JOINTS), -1.0)
        self.waiting = deque([rest] * given.delay)
        self.offset = _by_sensor(given.joint_offset, given.object_offset) * self.np_random.normal(size=ARM + OBJECT_POSE)
        self.seen = self._read()
        return self.seen.copy()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        import mujoco

        self.waiting.append(np.clip(np.asarray(action, float), -1, 1))
        now = self.waiting.popleft()
        before, joints = self.target, self.data.qpos[:JOINTS]
        self.target = np.clip(np.clip(before + DELTA * now[:JOINTS], joints - LEAD, joints + LEAD), *self.range)
        way = (-1 if now[JOINTS] > 0 else 1) * FINGER_SPEED / (RATE * TARGETS)
        for share in np.arange(1, TARGETS + 1) / TARGETS:
            self.opening = min(max(self.opening + way, 0.0), OPENING)
            self.data.ctrl[:] = (*(before + share * (self.target - before)), self.opening, self.opening)
            mujoco.mj_step(self.model, self.data, SUBSTEPS)
        if self.np_random.uniform() >= self.disturbances.dropped:
            self.seen = self._read()
        success = self.success()
        return self.seen.copy(), float(success) - 1, success, False, {"success": success}

    def success(self) -> bool:
        """Whether the job is done, by the rules above."""
        height = self.data.xpos[self.cube, 2] - SIDE / 2
        touching = self.touching()
        if not self.job.puts_down:
            return bool(len(touching) == 2 and height >= LIFT)
        end, speed = self.layout.end, np.linalg.norm(self.data.qvel[-6:-3])
        distance = np.hypot(*(self.data.xpos[self.cube, :2] - (end.x, end.y)))
        return bool(not touching and distance <= NEAR and abs(height) <= RESTING and speed <= SLOW)

    def touching(self) -> set[int]:
        """Bodies of the fingers that touch the cube."""
        pairs = self.model.geom_bodyid[self.data.contact.geom]  # (contacts, 2)
        return {finger for finger in self.fingers if (np.sort(pairs) == sorted((finger, self.cube))).all(axis=1).any()}

    def state(self) -> np.ndarray:
        """The observation of an ideal arm that sees the object, (15,)."""
        quaternion = self.data.xquat[self.cube]
        closed = self.data.qpos[JOINTS : JOINTS + 2].sum() < CLOSED_BELOW
        pose = (*self.data.xpos[self.cube], *(quaternion if quaternion[0] >= 0 else -quaternion))
        return np.array([*self.data.qpos[:JOINTS], closed, *pose])

    def tip(self) -> np.ndarray:
        """Position between the fingertips, (3,)."""
        return np.array(self.data.site(TIP).xpos)

    def put_object(self, place: Place) -> None:
        """Move the object; MuJoCo's derived quantities are not updated."""
        pose = (place.x, place.y, place.height, np.cos(place.angle / 2), 0, 0, np.sin(place.angle / 2))
        self.data.qpos[-7:], self.data.qvel[-6:] = pose, 0.0

    def _layout(self, goal: Goal) -> Layout:
        if self.job.sees_object:
            return free(self.job.puts_down, self.np_random, goal.layout.end)
        return goal.layout._replace(start=put_back(goal.layout.start, self.np_random))

    def _read(self) -> np.ndarray:
        """What the sensors say now."""
        given = self.disturbances
        noise = _by_sensor(given.joint_noise, given.object_noise) * self.np_random.normal(size=ARM + OBJECT_POSE)
        seen: np.ndarray = (self.state() + self.offset + noise).astype(np.float32)
        return seen[: self.size]


def _by_sensor(joints: float, position: float) -> np.ndarray:
    """Standard deviations of all numbers of an observation; the gripper and the object's quaternion have none."""
    return np.array([joints] * JOINTS + [0.0] + [position] * 3 + [0.0] * 4)


@cache
def _gymnasium_class() -> Any:
    """`Panda` as a Gymnasium environment."""
    import gymnasium

    return type("PandaEnv", (Panda, gymnasium.Env), {})


def make_env(job: Job, disturbances: Disturbances = IDEAL, arm: str = "wheel") -> Any:
    """A Gymnasium environment; `arm` says where the model of the arm comes from, see `mvl.tasks.panda.scene.ARMS`."""
    return _gymnasium_class()(job, disturbances, arm)
