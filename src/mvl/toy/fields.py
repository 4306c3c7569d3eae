"""Networks that learn the arena's distances: as the lowest value with a bounded slope, or by temporal differences."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from mvl.batches import Batch, Goals
from mvl.nets.mlp import apply_mlp, init_mlp
from mvl.regularizers.eikonal import Eikonal
from mvl.regularizers.mollified import Mollified
from mvl.toy.arena import ARENA, GOAL, STEP, draw_free, draw_steps
from mvl.types import Field, Key, Params, Regularizer, Shapes
from mvl.values.implicit_v import ImplicitV

WIDTHS = (64, 64)
BATCH = 256
CHUNKS = 10
"""Compiled calls per network; progress is reported after each."""
LEARNING_RATE, TARGET_RATE = 3e-3, 0.02
DISCOUNT = 0.98
VISCOSITY = 0.002
"""Viscosity of the mollified regularizer: neighbors are 0.06 away per dimension, a twentieth of the obstacle's width."""
VALUE = ImplicitV(widths=WIDTHS)


class Trainer(NamedTuple):
    """How a network is trained, and how distances are computed from it."""

    init: Callable[[Key], Params]
    loss: Callable[[Params, Params, Key], Array]
    """Takes the parameters, their target network and a random key."""
    distance: Callable[[Params, Array], Array]
    """Takes the parameters and points (..., 2); returns distances to the goal (...,)."""


def trainers() -> dict[str, Trainer]:
    """Trainers by name. Each weight has the lowest shape error of three that were tried: 3e3, 1e4, 3e4 and 3, 10, 30."""
    return {
        "mollified": solver(Mollified(weight=1e4, viscosity=VISCOSITY)),
        "Eikonal residual": solver(Eikonal(weight=10.0)),
        "TD": temporal_difference(),
    }


def solver(regularizer: Regularizer) -> Trainer:
    """Minimizes mean V + the regularizer's loss, V = -|s - goal| (1 + softplus(network)): no path is shorter than straight.

    Minus the distance to the goal is the lowest of all V with slope at most one and V(goal) = 0, so minimizing V under that
    bound finds it. The bound is a penalty, which gives way a little: distances come out slightly too large. Only free
    states are sampled; the network knows nothing else about the obstacle.
    """

    def at(params: Params, points: Array, _: Any) -> Array:
        straight = jnp.linalg.norm(
            points - jnp.asarray(GOAL) + 1e-8, axis=-1
        )  # shifted, so that it is differentiable at the goal too
        distance: Array = straight * (1 + jax.nn.softplus(apply_mlp(params, points)[..., 0]))
        return -distance[None]

    def loss(params: Params, _: Params, key: Key) -> Array:
        point_key, neighbor_key = jax.random.split(key)
        points = draw_free(point_key, BATCH)
        field = Field(partial(at, params), points, points)
        return field.at(points, points).mean() + regularizer(field, neighbor_key)[0]

    init = lambda key: init_mlp(key, 2, WIDTHS, 1, norm=True)
    return Trainer(init, loss, lambda params, points: -at(params, points, None)[0])


def temporal_difference() -> Trainer:
    """The value of GCIVL for one goal, on random transitions; the reward is -1 for every step that does not start at the goal."""
    unchanged = lambda states, goals: goals  # in place of a representation, and of a policy, which this value does not use

    def loss(params: Params, targets: Params, key: Key) -> Array:
        return VALUE.loss(params, targets, _batch(*draw_steps(key, BATCH)), unchanged, unchanged)[0]

    def distance(params: Params, points: Array) -> Array:
        """Solves -V = (1 - discount^n) / (1 - discount) for the number of steps n."""
        power = 1 + (1 - DISCOUNT) * VALUE.state_value(params, points, jnp.asarray(GOAL)).mean(axis=0)
        return STEP * jnp.log(jnp.maximum(power, 1e-3)) / jnp.log(DISCOUNT)

    return Trainer(lambda key: VALUE.init(key, Shapes(2, 2, 2, 2)), loss, distance)


def _batch(here: Array, there: Array) -> Batch:
    """A batch of transitions with the one goal, which is reached within a step's length of it."""
    vectors = jnp.tile(jnp.asarray(GOAL), (len(here), 1))
    missed = (jnp.linalg.norm(here - vectors, axis=-1) > STEP).astype(jnp.float32)
    goals = Goals(vectors, vectors, -missed, missed, missed)
    return Batch(here, there - here, there, here, goals, goals, jnp.asarray(DISCOUNT))


def train(trainer: Trainer, seed: int, steps: int, report: Callable[[], None]) -> np.ndarray:
    """Distances on the arena's grid after so many Adam steps; `report` is called `CHUNKS` times."""
    init_key, step_key = jax.random.split(jax.random.key(seed))
    params = trainer.init(init_key)
    optimizer = optax.adam(optax.cosine_decay_schedule(LEARNING_RATE, steps))

    def step(carry: tuple[Params, Params, Any], key: Key) -> tuple[tuple[Params, Params, Any], None]:
        params, targets, state = carry
        updates, state = optimizer.update(jax.grad(trainer.loss)(params, targets, key), state)
        moved = optax.incremental_update(params, targets, TARGET_RATE)
        return (optax.apply_updates(params, updates), moved, state), None

    chunk = jax.jit(lambda carry, keys: jax.lax.scan(step, carry, keys)[0])
    carry = (params, params, optimizer.init(params))
    for keys in jax.random.split(step_key, (CHUNKS, steps // CHUNKS)):
        carry = jax.block_until_ready(chunk(carry, keys))  # type: ignore[no-untyped-call]
        report()
    x, y, _ = ARENA.grid()
    points = jnp.stack(jnp.meshgrid(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)), axis=-1)
    return np.asarray(trainer.distance(carry[0], points))
