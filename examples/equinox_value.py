"""The mollified regularizer in a training loop of Equinox; nothing else of mvl is used. Needs `pip install equinox`.

A network learns the steps of random walks from a state to a goal. The regularizer is three lines in `loss`.
`python examples/equinox_value.py` takes seconds; with --quick it takes fewer steps, to see that it works.
"""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import mvl

LENGTH, BATCH, STEP = 50, 256, 0.1
REGULARIZER = mvl.Mollified(samples=4, cost=1 / STEP)  # a step of the walks, 0.1 long, costs one step


def batch_of(key):
    """States, later states of the same walk, and the steps between them."""
    walk, begin, ahead = jax.random.split(key, 3)
    places = jnp.cumsum(STEP * jax.random.normal(walk, (BATCH, LENGTH, 2)), axis=1)
    first = jax.random.randint(begin, (BATCH,), 0, LENGTH - 1)
    later = first + jax.random.randint(ahead, (BATCH,), 0, LENGTH - first)
    return places[jnp.arange(BATCH), first], places[jnp.arange(BATCH), later], (later - first).astype(float)


def values(network, points, goals):
    """V(s, g) for points (..., 2) and goals that broadcast to them, with an axis for heads in front: (1, ...)."""
    pairs = jnp.concatenate([points, jnp.broadcast_to(goals, points.shape)], axis=-1)
    return jax.vmap(network)(pairs.reshape(-1, 4)).reshape(1, *points.shape[:-1])


def loss(network, key):
    states, goals, steps = batch_of(key)
    error = jnp.square(values(network, states, goals)[0] + steps).mean()
    field = mvl.Field(at=lambda points, to: values(network, points, to), points=states, goals=goals)
    penalty, metrics = REGULARIZER(field, key)
    return error + penalty, metrics["active"]


def main(steps):
    keys, adam = jax.random.split(jax.random.key(0), steps + 1), optax.adam(1e-3)
    network = eqx.nn.MLP(4, "scalar", width_size=64, depth=2, activation=jax.nn.gelu, key=keys[0])
    state = adam.init(eqx.filter(network, eqx.is_array))

    @eqx.filter_jit
    def step(network, state, key):
        (value, active), gradients = eqx.filter_value_and_grad(loss, has_aux=True)(network, key)
        updates, state = adam.update(gradients, state)
        return eqx.apply_updates(network, updates), state, value, active

    for number, key in enumerate(keys[1:], 1):
        network, state, value, active = step(network, state, key)
        if number % (steps // 4) == 0:
            print(f"step {number}: loss {value:.2f}, bound violated at {active:.0%} of the neighbors")


main(20 if "--quick" in sys.argv else 2000)
