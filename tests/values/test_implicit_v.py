"""GCIVL's value loss against an independent statement in NumPy, its traps, and a chain with a known answer."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mvl.batches import Batch, Goals
from mvl.types import Shapes
from mvl.values.implicit_v import ImplicitV


@dataclass(frozen=True)
class TableV(ImplicitV):
    """The same loss with free values: V_e(s, z) is params[e, s, z]."""

    def state_value(self, params, states, goals):
        return params[:, states[..., 0].astype(int), goals[..., 0].astype(int)]


def batch_of(states, next_states, goals, rewards, masks, discount=0.9):
    column = lambda values: jnp.asarray(values, jnp.float32)[:, None]
    rewards, masks = jnp.asarray(rewards, jnp.float32), jnp.asarray(masks, jnp.float32)
    drawn = Goals(column(goals), column(goals), rewards, masks, masks.astype(int))
    nothing = jnp.zeros((len(states), 1))
    return Batch(column(states), nothing, column(next_states), column(states), drawn, drawn, jnp.asarray(discount))


def plain(states, goals):
    return goals


def no_policy(states, goals):
    raise AssertionError("GCIVL does not ask the policy")


def test_loss_by_hand():
    """Two states and a goal; every number below can be done on paper."""
    targets = jnp.array([[[-3.0], [-1.0]], [[-4.0], [-2.0]]])  # (heads, states, goals)
    params = jnp.array([[[-2.0], [0.0]], [[-6.0], [0.0]]])
    batch = batch_of([0], [1], [0], [-1.0], [1.0])
    # q = -1 + 0.9 * (-1, -2) = (-1.9, -2.8); A = -2.8 + 3.5 = 0.7 >= 0, so both heads weigh 0.9.
    expected = 0.9 * (-1.9 + 2.0) ** 2 + 0.9 * (-2.8 + 6.0) ** 2
    loss, metrics = TableV(expectile=0.9).loss(params, targets, batch, plain, no_policy)
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert float(metrics["advantage"]) == pytest.approx(0.7, rel=1e-5)


def test_expectile_weight_comes_from_the_target_heads():
    """A < 0 by the copies, though q_e - V_e > 0 by the parameters: the weight is 1 - kappa."""
    targets = jnp.array([[[-1.0], [-3.0]], [[-1.0], [-3.0]]])
    params = jnp.full((2, 2, 1), -9.0)
    batch = batch_of([0], [1], [0], [-1.0], [1.0])
    q = -1 + 0.9 * -3.0  # -3.7; A = -3.7 + 1 = -2.7
    loss, _ = TableV(expectile=0.9).loss(params, targets, batch, plain, no_policy)
    assert float(loss) == pytest.approx(2 * 0.1 * (q + 9) ** 2, rel=1e-5)


def test_mask_ends_the_backup_at_the_goal():
    targets = jnp.full((2, 2, 1), -50.0)
    batch = batch_of([0], [1], [0], [0.0], [0.0])
    loss, _ = TableV(expectile=0.5).loss(jnp.full((2, 2, 1), -1.0), targets, batch, plain, no_policy)
    assert float(loss) == pytest.approx(2 * 0.5 * 1.0)  # both heads regress on 0


def test_loss_matches_an_independent_statement(key):
    """Random numbers, everything written once more in NumPy, sample by sample."""
    generator = np.random.default_rng(0)
    params, targets = generator.normal(size=(2, 2, 5, 4)).astype(np.float32)
    states, next_states = generator.integers(0, 5, (2, 32))
    goals, rewards = generator.integers(0, 4, 32), generator.choice([-1.0, 0.0], 32)
    batch = batch_of(states, next_states, goals, rewards, rewards != 0, 0.97)
    total = 0.0
    for s, n, g, r in zip(states, next_states, goals, rewards, strict=True):
        q = [r + 0.97 * (r != 0) * targets[e, n, g] for e in range(2)]
        advantage = min(q) - 0.5 * (targets[0, s, g] + targets[1, s, g])
        weight = 0.8 if advantage >= 0 else 0.2
        total += sum(weight * (q[e] - params[e, s, g]) ** 2 for e in range(2)) / 32
    loss, _ = TableV(expectile=0.8).loss(jnp.asarray(params), jnp.asarray(targets), batch, plain, no_policy)
    assert float(loss) == pytest.approx(total, rel=1e-5)


def test_advantage_has_neither_reward_nor_discount():
    params = jnp.array([[[-3.0], [-1.0]], [[-5.0], [-2.0]]])
    batch = batch_of([0], [1], [0], [-1.0], [1.0])
    advantage = TableV().advantage(params, batch, batch.value_goals.vectors, plain)
    assert advantage.tolist() == [pytest.approx(((-1 + 3) + (-2 + 5)) / 2)]


def test_only_the_current_value_is_differentiated():
    """Neither the copies nor the goals inside the backup carry gradient; the goal inside V(s, z) does."""
    value = ImplicitV(widths=(8,))
    params = value.init(jax.random.key(0), Shapes(1, 1, 1, represented=1))
    targets = jax.tree.map(lambda leaf: leaf * 1.5, params)
    batch = batch_of([0, 1], [1, 2], [2, 2], [-1.0, -1.0], [1.0, 1.0])

    def loss(params, targets, here, there):
        at_start = lambda states, goals: jnp.where((states == batch.observations).all(), here, there)
        return value.loss(params, targets, batch, at_start, no_policy)[0]

    goals = batch.value_goals.vectors
    by_params, by_targets, by_here, by_there = jax.grad(loss, argnums=(0, 1, 2, 3))(params, targets, goals, goals)
    size = lambda tree: sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(tree))
    assert size(by_params) > 0
    assert size(by_targets) == 0
    assert size(by_here) > 0
    assert size(by_there) == 0


@pytest.mark.parametrize("discount", [0.9, 0.99])
def test_converges_to_the_discounted_distance_on_a_chain(discount):
    """On 0 -> 1 -> ... -> 6, V(s, g) = -(1 - discount^d) / (1 - discount) for every g reachable in d steps."""
    length = 7
    pairs = [(s, g) for s in range(length - 1) for g in range(s, length - 1)]
    states, goals = np.array(pairs).T
    reached = states == goals
    batch = batch_of(states, states + 1, goals, np.where(reached, 0.0, -1.0), ~reached, discount)
    value = TableV(expectile=0.95)
    params = targets = jnp.zeros((2, length, length))
    optimizer = optax.adam(0.1)

    def step(carry, _):
        params, targets, moments = carry
        gradient = jax.grad(lambda p: value.loss(p, targets, batch, plain, no_policy)[0])(params)
        updates, moments = optimizer.update(gradient, moments)
        return (optax.apply_updates(params, updates), optax.incremental_update(params, targets, 0.05), moments), None

    (params, _, _), _ = jax.lax.scan(step, (params, targets, optimizer.init(params)), None, length=3000)
    distance = goals - states
    expected = -(1 - discount**distance) / (1 - discount)
    assert np.allclose(params[:, states, goals], expected, atol=0.02)
