"""Trains an ant to walk in any direction, in OGBench's environment for online training."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from mvl.extras import check_simulators
from mvl.nets.mlp import MLP
from mvl.tasks.walker.gait import BODY, JOINTS, Layer, Walker, outputs, upside_down, walk
from mvl.tasks.walker.soft_actor_critic import LOG_DEVIATIONS, SoftActorCritic, Transitions

RANDOM_STEPS = 5_000
"""Steps with random actions before the first update."""
DISPATCH = 16
"""Steps in the environment, and then as many updates in one compiled call."""
BATCH = 256
TURN = 100
"""Steps between changes of the direction."""
EPISODE = 500
"""Steps of an episode."""
RELABELED = 0.5
"""Share of a batch that gets a new random direction; its reward can be computed from the displacement."""

Report = Callable[[int, int], None]
"""Called with (done, total) steps."""


class Replay:
    """Replay buffer with every transition so far."""

    def __init__(self, size: int) -> None:
        self.count = 0
        self.body = np.zeros((size, BODY), np.float32)
        self.next_body = np.zeros((size, BODY), np.float32)
        self.moved = np.zeros((size, 2), np.float32)
        self.direction = np.zeros((size, 2), np.float32)
        self.action = np.zeros((size, JOINTS), np.float32)
        self.fell = np.zeros(size, np.float32)

    def add(self, **row: Any) -> None:
        """Add a transition, as `Ant.step` returns it."""
        for name, value in row.items():
            getattr(self, name)[self.count] = value
        self.count += 1

    def sample(self, rng: np.random.Generator, shape: tuple[int, int]) -> Transitions:
        """Random transitions; the reward is the displacement along the direction."""
        rows = rng.integers(self.count, size=shape)
        relabeled = rng.uniform(size=(*shape, 1)) < RELABELED
        direction = np.where(relabeled, normalized(rng.normal(size=(*shape, 2))), self.direction[rows]).astype(np.float32)
        return Transitions(
            states=np.concatenate([self.body[rows], direction], axis=-1),
            actions=self.action[rows],
            rewards=(self.moved[rows] * direction).sum(-1),
            ended=self.fell[rows],
            next_states=np.concatenate([self.next_body[rows], direction], axis=-1),
        )


class Ant:
    """The environment with a direction to walk in; resets itself after a fall, or after `EPISODE` steps."""

    def __init__(self, rng: np.random.Generator) -> None:
        check_simulators("the ant")
        from ogbench.online_locomotion.ant import AntEnv

        self.env: Any = AntEnv(terminate_when_unhealthy=False)
        self.rng = rng
        self.reset()

    def reset(self) -> None:
        self.body, _ = self.env.reset(seed=int(self.rng.integers(2**31)))
        self.steps = 0
        self.turn()

    def turn(self) -> None:
        """Choose a new random direction."""
        self.direction = normalized(self.rng.normal(size=2))

    def step(self, action: np.ndarray) -> dict[str, Any]:
        """One step; returns the transition for the replay buffer."""
        before, body, direction = self.env.data.qpos[:2].copy(), self.body, self.direction
        self.body, *_ = self.env.step(action)
        moved = self.env.data.qpos[:2] - before
        fell = upside_down(self.body)
        row = {"body": body, "direction": direction, "action": action, "moved": moved, "fell": fell, "next_body": self.body}
        self.steps += 1
        if fell or self.steps == EPISODE:
            self.reset()
        elif self.steps % TURN == 0:
            self.turn()
        return row


def train_ant(steps: int, seed: int = 0, report: Report = lambda done, total: None) -> Walker:
    """A walker trained for that many steps, with one update per step."""
    rng = np.random.default_rng(seed)
    ant, replay = Ant(rng), Replay(steps)
    agent = SoftActorCritic(states=BODY + 2, actions=JOINTS)
    state = jax.jit(agent.init)(jax.random.key(seed))
    updates = jax.jit(agent.updates, donate_argnums=0)
    walker = as_walker(state.nets.actor)
    while replay.count < steps:
        for _ in range(min(DISPATCH, steps - replay.count)):
            random = replay.count < RANDOM_STEPS
            action = rng.uniform(-1, 1, JOINTS) if random else explore(walker, ant.body, ant.direction, rng)
            replay.add(**ant.step(action))
        if replay.count >= RANDOM_STEPS:
            state = updates(state, replay.sample(rng, (DISPATCH, BATCH)))
            walker = as_walker(state.nets.actor)
        report(replay.count, steps)
    return walker


def explore(walker: Walker, body: np.ndarray, direction: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random action of the policy, (8,)."""
    mean, log_deviation = outputs(walker, body, direction)
    action: np.ndarray = np.tanh(mean + np.exp(np.clip(log_deviation, *LOG_DEVIATIONS)) * rng.normal(size=JOINTS))
    return action


def as_walker(actor: MLP) -> Walker:
    """The actor's parameters as NumPy arrays."""
    return tuple(Layer(np.asarray(layer.kernel), np.asarray(layer.bias)) for layer in (*actor.hidden, actor.output))


class Gait(NamedTuple):
    """How well a walker walks."""

    speed: float
    """Meters per step in the given direction."""
    falls: float
    """Falls per 1000 steps."""


def measure_gait(walker: Walker, steps: int = 5_000, noise: float = 0.2, seed: int = 0) -> Gait:
    """How well a walker walks with the noise that data is generated with."""
    rng = np.random.default_rng(seed)
    ant = Ant(rng)
    rows = []
    for _ in range(steps):
        action = np.clip(walk(walker, ant.body, ant.direction) + rng.normal(0, noise, JOINTS), -1, 1)
        rows.append(ant.step(action))
    speed = np.mean([row["moved"] @ row["direction"] for row in rows])
    return Gait(float(speed), 1000 * float(np.mean([row["fell"] for row in rows])))


def normalized(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., n) divided by their lengths."""
    directions: np.ndarray = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return directions
