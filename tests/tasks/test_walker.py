"""Soft actor-critic against numbers made by hand, and the walker it trains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.cli import main
from mvl.errors import MvlError
from mvl.nets.mlp import apply_ensemble, apply_mlp, init_mlp
from mvl.tasks.walker import gait as walker
from mvl.tasks.walker import training as ant
from mvl.tasks.walker.gait import BODY, JOINTS, Layer, load, outputs, upside_down, walk
from mvl.tasks.walker.soft_actor_critic import SoftActorCritic, Transitions
from mvl.tasks.walker.training import Replay, as_walker, measure_gait, train_ant

AGENT = SoftActorCritic(states=3, actions=2, widths=(8,), discount=0.9, target_rate=0.25, learning_rate=1e-2)


def step(key, count: int = 6) -> Transitions:
    keys = jax.random.split(key, 5)
    return Transitions(
        states=jax.random.normal(keys[0], (count, 3)),
        actions=jax.random.uniform(keys[1], (count, 2), minval=-1, maxval=1),
        rewards=jax.random.normal(keys[2], (count,)),
        ended=jnp.arange(count) % 2.0,
        next_states=jax.random.normal(keys[3], (count, 3)),
    )


def test_the_density_of_squashed_draws(key):
    """log pi(a) of a = tanh(u), u normal: log N(u) - sum log(1 - a^2)."""
    state = AGENT.init(key)
    states = jax.random.normal(key, (5, 3))
    actions, log = AGENT.act(state.nets.actor, states, jax.random.key(3))
    mean, log_deviation = np.split(np.asarray(apply_mlp(state.nets.actor, states), np.float64), 2, axis=-1)
    raw = np.arctanh(np.asarray(actions, np.float64))
    normal = -0.5 * ((raw - mean) / np.exp(log_deviation)) ** 2 - log_deviation - 0.5 * np.log(2 * np.pi)
    by_hand = (normal - np.log(1 - np.asarray(actions, np.float64) ** 2)).sum(-1)
    assert np.asarray(log) == pytest.approx(by_hand, abs=1e-3)


def test_the_loss_by_hand(key):
    state, batch = AGENT.init(key), step(key)
    nets, target = state.nets, jax.tree.map(lambda leaf: 0.5 * leaf, state.target)
    here_key, next_key = jax.random.split(jax.random.key(8))
    temperature = float(jnp.exp(nets.log_temperature))
    assert temperature == pytest.approx(0.1)
    next_actions, next_log = AGENT.act(nets.actor, batch.next_states, next_key)
    next_values = np.asarray(apply_ensemble(target, batch.next_states, next_actions))[..., 0].min(0)
    after = next_values - temperature * np.asarray(next_log)
    wanted = np.asarray(batch.rewards) + 0.9 * (1 - np.asarray(batch.ended)) * after
    critic = np.mean((np.asarray(apply_ensemble(nets.critics, batch.states, batch.actions))[..., 0] - wanted) ** 2)
    actions, log = AGENT.act(nets.actor, batch.states, here_key)
    worth = np.asarray(apply_ensemble(nets.critics, batch.states, actions))[..., 0].min(0)
    actor = np.mean(temperature * np.asarray(log) - worth)
    balance = temperature * (-np.mean(np.asarray(log)) - (-0.5 * 2))
    assert float(AGENT.loss(nets, target, batch, jax.random.key(8))) == pytest.approx(critic + actor + balance, rel=1e-4)


def test_who_learns_from_what(key):
    """The temperature falls where the entropy is too high; critics do not learn from the actor's loss."""
    state, batch = AGENT.init(key), step(key)
    gradients = jax.grad(AGENT.loss)(state.nets, state.target, batch, jax.random.key(8))
    assert float(gradients.log_temperature) > 0  # a fresh policy's entropy is above -1: the temperature has to fall
    by_critic = lambda critics: jnp.square(
        apply_ensemble(critics, batch.states, batch.actions)[..., 0] - _target(state, batch)
    ).mean()
    expected = jax.grad(by_critic)(state.nets.critics)
    for one, other in zip(jax.tree.leaves(expected), jax.tree.leaves(gradients.critics), strict=True):
        assert np.asarray(one) == pytest.approx(np.asarray(other), abs=1e-5)


def _target(state, batch):
    next_key = jax.random.split(jax.random.key(8))[1]
    actions, log = AGENT.act(state.nets.actor, batch.next_states, next_key)
    after = apply_ensemble(state.target, batch.next_states, actions)[..., 0].min(0) - 0.1 * log
    return jax.lax.stop_gradient(batch.rewards + 0.9 * (1 - batch.ended) * after)


def test_updates_in_one_dispatch_are_updates_one_by_one(key):
    first = AGENT.init(key)
    many = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[step(jax.random.key(i)) for i in range(3)])
    together, alone = jax.jit(AGENT.updates)(first, many), first
    for index in range(3):
        before = alone.target
        alone = jax.jit(AGENT.update)(alone, jax.tree.map(lambda leaf, i=index: leaf[i], many))
        moved = jax.tree.map(lambda old, new: 0.75 * old + 0.25 * new, before, alone.nets.critics)
        assert np.asarray(moved.output.bias) == pytest.approx(np.asarray(alone.target.output.bias), abs=1e-6)
    for one, other in zip(jax.tree.leaves(together.nets), jax.tree.leaves(alone.nets), strict=True):
        assert np.asarray(one) == pytest.approx(np.asarray(other), abs=1e-5)


def test_the_walker_in_numpy_is_the_actor(key):
    actor = init_mlp(key, BODY + 2, (16, 16), 2 * JOINTS, norm=False)
    body, direction = np.random.default_rng(0).normal(size=(4, BODY)), np.eye(2)[[0, 1, 0, 1]]
    mean, log_deviation = outputs(as_walker(actor), body, direction)
    both = apply_mlp(actor, jnp.asarray(np.concatenate([body, direction], -1), jnp.float32))
    assert np.concatenate([mean, log_deviation], -1) == pytest.approx(np.asarray(both), abs=1e-5)
    assert walk(as_walker(actor), body, direction) == pytest.approx(np.tanh(np.asarray(both)[:, :JOINTS]), abs=1e-5)


def test_a_replay_rewards_the_way_made_in_its_direction(monkeypatch):
    replay = Replay(2)
    body = np.arange(BODY, dtype=np.float32)
    told = {"action": np.ones(JOINTS), "next_body": body + 1}
    replay.add(body=body, direction=[1.0, 0.0], moved=[0.3, 0.4], fell=False, **told)
    replay.add(body=body, direction=[0.0, 1.0], moved=[0.3, 0.4], fell=True, **told)
    monkeypatch.setattr(ant, "RELABELED", 0.0)
    drawn = replay.sample(np.random.default_rng(0), (3, 50))
    assert drawn.states.shape == (3, 50, BODY + 2)
    assert np.where(drawn.ended == 1, 0.4, 0.3) == pytest.approx(drawn.rewards)
    assert set(drawn.ended.ravel()) == {0.0, 1.0}
    monkeypatch.setattr(ant, "RELABELED", 1.0)
    anew = replay.sample(np.random.default_rng(0), (3, 50))
    direction = anew.states[..., BODY:]
    assert np.linalg.norm(direction, axis=-1) == pytest.approx(1)
    assert anew.rewards == pytest.approx(0.3 * direction[..., 0] + 0.4 * direction[..., 1])
    assert np.array_equal(anew.next_states[..., BODY:], direction)


def test_training_is_repeatable_and_written_with_its_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ant, "RANDOM_STEPS", 40)
    monkeypatch.setattr(ant, "BATCH", 8)
    one, two = train_ant(80, seed=3), train_ant(80, seed=3)
    assert all((a == b).all() for x, y in zip(one, two, strict=True) for a, b in zip(x, y, strict=True))
    path = tmp_path / "w.safetensors"
    assert main(["data", "expert", "ant", "--to", str(path), "--steps", "60"]) == 0
    assert "m per step in the commanded direction" in capsys.readouterr().out
    assert load(path)[0].weights.shape == (BODY + 2, 256)
    assert main(["data", "expert", "ant", "--to", str(path), "--steps", "60"]) == 1
    assert "exists already; choose another name, or replace it with --overwrite" in capsys.readouterr().err


def test_files_that_are_no_walkers_are_refused(tmp_path):
    (tmp_path / "text").write_text("no")
    with pytest.raises(MvlError, match="text: not a readable walker .*make one with mvl data expert ant"):
        load(tmp_path / "text")
    walker.save(tmp_path / "small", (Layer(np.zeros((3, 4)), np.zeros(4)),), {})
    with pytest.raises(MvlError, match="small: not a walker of 29 inputs and 16 outputs"):
        load(tmp_path / "small")


def test_upside_down():
    body = np.zeros(BODY)
    body[1] = 1  # upright
    assert not upside_down(body)
    body[1:5] = 0, 1, 0, 0  # half a turn around x
    assert upside_down(body)


def test_the_shipped_walker_walks_where_it_is_told():
    """The reference of the same kind goes 0.15 m a step."""
    assert walker.SHIPPED.stat().st_size < 2e6
    found = measure_gait(load(), steps=2000)
    assert found.speed > 0.12
    assert found.falls <= 2
