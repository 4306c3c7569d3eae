"""Scripted demonstrations that vary as a person's do: in speed, detours, pauses and corrections. Needs mink."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mvl.data.episodes import columns_of
from mvl.errors import MvlError
from mvl.tasks.panda.arm import HOME, TIP
from mvl.tasks.panda.arm import JOINTS as JOINT_NAMES
from mvl.tasks.panda.environment import DELTA, JOINTS, RATE, Job, Panda, make_env
from mvl.tasks.panda.places import MARKS, Goal, Layout, Place, free, marked

ATTEMPTS = 20
"""How often an episode is tried until the demonstration succeeds."""
SPEED = (0.15, 0.35)
"""Range of a person's mean speed, in m/s; single moves deviate from it by up to PACE."""
PACE = 0.25
SHORTEST = 0.3
"""Duration of a short move, in s."""
DETOUR = 0.25
"""Standard deviation of the distance from the straight line, as a share of a move's length."""
PAUSE = (0.4, 12)
"""Probability of a pause after a move, and its largest number of steps."""
AIM, GRASP, TREMOR = 0.012, 0.003, 0.0008
"""Standard deviations in m: of the first aim above the object, of the grasp, and of the hand at all times."""
TWIST = 0.1
"""Standard deviation of the angle of the hand in the first aim, in rad."""
HOVER = (0.08, 0.14)
"""Range of heights of the tip above the table before it is lowered, in m."""
GRIP = (11, 16)
"""Range of the steps in which the gripper is opened or closed."""
STAY = (5, 10)
"""Range of the steps for which the arm stays at the end."""
POSTURE_COST = 0.02
"""Of a joint that is not at home, against 1 for the tip's position: it decides where the elbow goes."""


class Aim(NamedTuple):
    """Where the hand is to be at a step; it always points down."""

    position: np.ndarray  # (3,) of the tip
    angle: float
    closed: bool


class Person:
    """Moves of a hand, step by step: what one demonstrator does in one episode."""

    def __init__(self, position: np.ndarray, generator: np.random.Generator) -> None:
        self.generator = generator
        self.speed = generator.uniform(*SPEED)
        self.aim = Aim(position, 0.0, False)
        self.tremor = np.zeros(3)

    def plan(self, layout: Layout, puts_down: bool) -> Iterator[Aim]:
        """Reach for the object, grasp it, and lift it to its end or put it down there."""
        yield from self._approach(layout.start)
        yield from self._grip(True)
        yield from self._move((*self.aim.position[:2], self.generator.uniform(*HOVER)), layout.start.angle)
        if puts_down:
            yield from self._approach(layout.end)
            yield from self._grip(False)
            yield from self._move((*self.aim.position[:2], self.generator.uniform(*HOVER)), layout.end.angle)
        else:
            yield from self._move((layout.end.x, layout.end.y, layout.end.height), layout.end.angle)
        yield from self._stay(int(self.generator.integers(*STAY)))

    def _approach(self, place: Place) -> Iterator[Aim]:
        """Move above a place, correct the aim, and go down to it."""
        x, y = place.x, place.y
        rough = (*(np.array([x, y]) + self.generator.normal(0, AIM, 2)), self.generator.uniform(*HOVER))
        yield from self._move(rough, place.angle + self.generator.normal(0, TWIST), detour=DETOUR)
        yield from self._pause()
        exact = np.array([x, y]) + self.generator.normal(0, GRASP, 2)
        yield from self._move((*exact, self.generator.uniform(HOVER[0] - 0.02, self.aim.position[2])), place.angle)
        yield from self._pause()
        yield from self._move((*exact, place.height), place.angle)

    def _move(self, to: tuple[float, ...], angle: float, detour: float = 0.0) -> Iterator[Aim]:
        """A move with the least jerk, along a curve that leaves the straight line by `detour` of its length."""
        start, end = self.aim, np.array(to)
        length = float(np.linalg.norm(end - start.position))
        pace = self.speed * self.generator.uniform(1 - PACE, 1 + PACE)
        steps = max(round(RATE * length / pace), round(RATE * SHORTEST))
        corner = (start.position + end) / 2 + detour * length * self.generator.normal(size=3) * (1, 1, 0.3)
        for time in np.arange(1, steps + 1) / steps:
            done = time**3 * (10 - 15 * time + 6 * time**2)
            position = (1 - done) ** 2 * start.position + 2 * done * (1 - done) * corner + done**2 * end
            yield self._at(position, start.angle + done * (angle - start.angle), start.closed)

    def _grip(self, closed: bool) -> Iterator[Aim]:
        for _ in range(int(self.generator.integers(*GRIP))):
            yield self._at(self.aim.position, self.aim.angle, closed)

    def _pause(self) -> Iterator[Aim]:
        if self.generator.uniform() < PAUSE[0]:
            yield from self._stay(int(self.generator.integers(1, PAUSE[1])))

    def _stay(self, steps: int) -> Iterator[Aim]:
        for _ in range(steps):
            yield self._at(self.aim.position, self.aim.angle, self.aim.closed)

    def _at(self, position: np.ndarray, angle: float, closed: bool) -> Aim:
        """The aim at this step, with the hand's tremor."""
        self.aim = Aim(position, angle, closed)
        self.tremor = 0.8 * self.tremor + 0.6 * self.generator.normal(0, TREMOR, 3)
        return self.aim._replace(position=position + self.tremor)


class InverseKinematics:
    """Joint targets for a pose of the hand, by differential inverse kinematics within the limits of an action."""

    def __init__(self, env: Panda) -> None:
        import mink

        self.env, self.mink = env, mink
        self.configuration = mink.Configuration(env.model)
        self.hand = mink.FrameTask(TIP, "site", position_cost=1.0, orientation_cost=0.3)
        self.posture = mink.PostureTask(env.model, cost=POSTURE_COST)
        self.posture.set_target(np.append(HOME, env.model.qpos0[JOINTS:]))
        speeds = {name: RATE * DELTA for name in JOINT_NAMES}
        self.limits = [mink.ConfigurationLimit(env.model), mink.VelocityLimit(env.model, speeds)]

    def action(self, aim: Aim) -> np.ndarray:
        """The action that brings the hand to an aim, or as near as it may go in a step."""
        positions = self.env.data.qpos.copy()
        positions[:JOINTS] = self.env.target
        self.configuration.update(positions)
        down = self.mink.SO3.from_z_radians(aim.angle) @ self.mink.SO3.from_x_radians(np.pi)
        self.hand.set_target(self.mink.SE3.from_rotation_and_translation(down, aim.position))
        tasks, step = [self.hand, self.posture], 1 / RATE
        speed = self.mink.solve_ik(self.configuration, tasks, step, "daqp", limits=self.limits)
        changes = np.append(speed[:JOINTS] * step / DELTA, 1.0 if aim.closed else -1.0)
        action: np.ndarray = np.clip(changes, -1, 1).astype(np.float32)
        return action


class PandaGenerator:
    """Demonstrations that succeed; an episode is a pure function of its seed."""

    def __init__(self, job: Job, arm: str = "wheel") -> None:
        self.job, self.env = job, make_env(job, arm=arm)
        self.kinematics = InverseKinematics(self.env)

    def episode(self, seed: int) -> dict[str, np.ndarray]:
        """Rows of one episode: observations, actions, terminals, commanded positions and the simulator's state."""
        generator = np.random.default_rng(seed)
        for _ in range(ATTEMPTS):
            layout = self._layout(generator, int(generator.integers(len(MARKS))))
            rows = self.attempt(layout, generator)
            if rows is not None:
                return columns_of(rows)
        raise MvlError(f"{self.job.name}: no demonstration of seed {seed} succeeded in {ATTEMPTS} attempts; try another --seed.")

    def _layout(self, generator: np.random.Generator, mark: int) -> Layout:
        return free(self.job.puts_down, generator) if self.job.sees_object else marked(mark, self.job.puts_down, generator)

    def goals(self, seed: int = 0) -> list[Goal]:
        """The evaluation goals: the ends of five demonstrations, one from each mark unless the object stands anywhere."""
        found = []
        for number in range(len(MARKS)):
            generator = np.random.default_rng((seed, number))
            layout = self._layout(generator, number)
            assert self.attempt(layout, generator), f"the demonstration of goal {number + 1} fails"
            found.append(Goal(layout, self.env.state()))
        return found

    def attempt(self, layout: Layout, generator: np.random.Generator) -> list[dict[str, Any]] | None:
        """Rows of a demonstration, or None if it fails."""
        self.env.np_random = generator
        observation = self.env.begin(layout)
        rows, success = [], False
        for aim in Person(self.env.tip(), generator).plan(layout, self.job.puts_down):
            state = {"qpos": self.env.data.qpos.copy(), "qvel": self.env.data.qvel.copy()}
            action = self.kinematics.action(aim)
            before = observation
            observation, _, success, _, _ = self.env.step(action)
            commands = np.append(self.env.target, aim.closed)
            rows.append({"observations": before, "actions": action, "commands": commands, **state})
        return rows if success and len(rows) <= self.job.limit else None
