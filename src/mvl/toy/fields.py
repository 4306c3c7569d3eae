"""Networks that find the arena's distances: the lowest field that keeps a bound, and temporal differences."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from mvl.nets.mlp import apply_mlp, init_mlp
from mvl.regularizers.eikonal import Eikonal
from mvl.regularizers.mollified import Mollified
from mvl.toy.arena import ARENA, GOAL, STEP, draw_free, draw_steps
from mvl.types import Batch, Field, Goals, Key, Params, Regularizer, Shapes
from mvl.values.implicit_v import ImplicitV

WIDTHS = (64, 64)
BATCH = 256
CHUNKS = 10
"""Calls of compiled code per network, between which progress is shown."""
LEARNING_RATE, TARGET_RATE = 3e-3, 0.02
DISCOUNT = 0.98
VISCOSITY = 0.002
"""Neighbors lie 0.06 away in each dimension, a twentieth of the obstacle's width."""
VALUE = ImplicitV(widths=WIDTHS)


class Trainer(NamedTuple):
    """How one network is trained and read."""

    init: Callable[[Key], Params]
    loss: Callable[[Params, Params, Key], Array]
    """Of the parameters, their slowly moving copy and randomness."""
    distance: Callable[[Params, Array], Array]
    """Of the parameters, at points (..., 2)."""


def trainers() -> dict[str, Trainer]:
    """By name. Both weights are the best in shape error of three, a factor of three apart: 3e3 to 3e4, and 3 to 30."""
    return {
        "mollified": solver(Mollified(weight=1e4, viscosity=VISCOSITY)),
        "Eikonal residual": solver(Eikonal(weight=10.0)),
        "TD": temporal_difference(),
    }


def solver(regularizer: Regularizer) -> Trainer:
    """Minimize mean V + what the regularizer asks, V = -|s - goal| (1 + softplus(network)): no way is shorter than straight.

    Minus the distance to the goal is the lowest of all fields that rise by no more than one per unit of way, so pushing
    V down against that bound finds it; the bound gives way a little, which stretches the field. Only free states are
    visited: that is all a network knows of the obstacle.
    """

    def at(params: Params, points: Array, _: Any) -> Array:
        straight = jnp.linalg.norm(points - jnp.asarray(GOAL) + 1e-8, axis=-1)  # the shift: differentiable at the goal too
        return -(straight * (1 + jax.nn.softplus(apply_mlp(params, points)[..., 0])))[None]

    def loss(params: Params, _: Params, key: Key) -> Array:
        place_key, neighbor_key = jax.random.split(key)
        points = draw_free(place_key, BATCH)
        field = Field(partial(at, params), points, points)
        return field.at(points, points).mean() + regularizer(field, neighbor_key)[0]

    init = lambda key: init_mlp(key, 2, WIDTHS, 1, norm=True)
    return Trainer(init, loss, lambda params, points: -at(params, points, None)[0])


def temporal_difference() -> Trainer:
    """The value of GCIVL for one goal, on transitions in random directions: -1 for every step that does not begin there."""
    plain = lambda states, goals: goals  # no representation, and no policy whose actions a value might ask for

    def loss(params: Params, targets: Params, key: Key) -> Array:
        return VALUE.loss(params, targets, _batch(*draw_steps(key, BATCH)), plain, plain)[0]

    def distance(params: Params, points: Array) -> Array:
        """-V = (1 - discount^n) / (1 - discount) for n steps."""
        worth = 1 + (1 - DISCOUNT) * VALUE.state_value(params, points, jnp.asarray(GOAL)).mean(axis=0)
        return STEP * jnp.log(jnp.maximum(worth, 1e-3)) / jnp.log(DISCOUNT)

    return Trainer(lambda key: VALUE.init(key, Shapes(2, 2, 2, 2)), loss, distance)


def _batch(here: Array, there: Array) -> Batch:
    """Transitions toward the one goal, which is reached within a step's length of it."""
    vectors = jnp.tile(jnp.asarray(GOAL), (len(here), 1))
    missed = (jnp.linalg.norm(here - vectors, axis=-1) > STEP).astype(jnp.float32)
    goals = Goals(vectors, vectors, -missed, missed, missed)
    return Batch(here, there - here, there, here, goals, goals, jnp.asarray(DISCOUNT))


def train(trainer: Trainer, seed: int, steps: int, told: Callable[[], None]) -> np.ndarray:
    """The distance field on the arena's grid, after so many Adam steps; `told` is called after each of the chunks."""
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
        carry = jax.block_until_ready(chunk(carry, keys))
        told()
    x, y, _ = ARENA.grid()
    points = jnp.stack(jnp.meshgrid(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)), axis=-1)
    return np.asarray(trainer.distance(carry[0], points))
