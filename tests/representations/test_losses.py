"""Each representation's loss against an independent statement of its equation in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import walk
from mvl.batches import BatchRequest, GoalMix
from mvl.data.goals import on_device, sample
from mvl.nets.mlp import apply_ensemble, apply_mlp
from mvl.recipes.recipe import make_part
from mvl.types import Shapes

SHAPES = Shapes(observation=2, action=2, goal=2)
SMALL = {"size": 6, "widths": (8, 8)}
NAMES = ["vib", "vip", "tra", "byol", "dual"]


def make(name, **settings):
    return make_part("representation", name, **{**SMALL, **settings})


@pytest.fixture
def batch(key):
    wants = BatchRequest(goals=GoalMix(0.0, 1.0, 0.0), windows=True)
    return sample(key, on_device(walk()), 16, (GoalMix(), GoalMix(0.0, 1.0, 0.0, False)), wants, 0.9)


def log_softmax(x, axis=-1):
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def loss_of(part, params, batch, key):
    targets = jax.tree.map(lambda leaf: leaf * 1.1, part.targets(params))
    return part.loss(params, targets, batch, key), targets


def arrays(tree):
    return [np.asarray(leaf, np.float64) for leaf in tree]


def test_vib(batch, key):
    """beta times the mean over the batch of sum_j (mu^2 + s^2 - 1 - log s^2) / 2."""
    part = make("vib", beta=0.5)
    params = part.init(key, SHAPES)
    mean, log_std = arrays(part.posterior(params, batch.value_goals.vectors))
    total = 0.0
    for m, s in zip(mean, np.exp(log_std), strict=True):
        total += sum(0.5 * (m[j] ** 2 + s[j] ** 2 - 1 - np.log(s[j] ** 2)) for j in range(6))
    (loss, _), _ = loss_of(part, params, batch, key)
    assert float(loss) == pytest.approx(0.5 * total / 16, rel=1e-5)


def test_vib_encodes_by_its_posterior(batch, key):
    part = make("vib")
    params = part.init(key, SHAPES)
    goals = jnp.broadcast_to(batch.value_goals.vectors[:1], (20_000, 2))
    drawn = part.encode(params, goals, goals, key)
    mean, log_std = part.posterior(params, goals[:1])
    assert np.allclose(drawn.mean(0), mean[0], atol=0.05)
    assert np.allclose(drawn.std(0), np.exp(log_std[0]), rtol=0.05)
    loud = params._replace(log_std=params.log_std._replace(bias=jnp.full(6, 100.0)))
    assert (part.posterior(loud, goals[:1])[1] == 2.0).all()
    quiet = params._replace(log_std=params.log_std._replace(bias=jnp.full(6, -100.0)))
    assert (part.posterior(quiet, goals[:1])[1] == -5.0).all()


def test_vib_third_layer_is_linear(key):
    """Scaling the last layer of the trunk scales the features: no activation, no normalization after it."""
    part = make("vib", widths=(8, 8, 8))
    params = part.init(key, SHAPES)
    assert len(params.trunk.hidden) == len(params.trunk.norms) == 2
    assert params.trunk.output.kernel.shape == (8, 8)


def test_vip(batch, key):
    part = make("vip")
    params = part.init(key, SHAPES)
    start, here, there, end = arrays(apply_mlp(params, states) for states in batch.windows)

    def value(a, b):
        return -np.sqrt(max(((a - b) ** 2).sum(), 1e-6))

    near = [-value(a, b) for a, b in zip(start, end, strict=True)]
    terms = [value(h, e) + 1 - 0.9 * value(t, e) for h, t, e in zip(here, there, end, strict=True)]
    expected = 0.1 * np.mean(near) + np.log(np.sum(np.exp(terms)))
    (loss, _), _ = loss_of(part, params, batch, key)
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_tra(batch, key):
    part = make("tra")
    params = part.init(key, SHAPES)
    phi = np.asarray(apply_ensemble(params.state, batch.observations), np.float64).mean(0)
    psi = np.asarray(apply_ensemble(params.goal, batch.representation_goals.vectors), np.float64).mean(0)
    logits = np.array([[phi[i] @ psi[j] / np.sqrt(6) for j in range(16)] for i in range(16)])
    rows, columns = log_softmax(logits, 1), log_softmax(logits, 0)
    expected = -sum(rows[i, i] + columns[i, i] for i in range(16)) / 16**2
    (loss, _), _ = loss_of(part, params, batch, key)
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_byol(batch, key):
    part = make("byol")
    params = part.init(key, SHAPES)
    mean = lambda mlp, *inputs: apply_ensemble(mlp, *inputs).mean(0)
    u, y = mean(params.embed, batch.observations), mean(params.embed, batch.representation_goals.vectors)
    ahead, back = arrays((mean(params.forward, u, batch.actions), mean(params.backward, y)))
    u, y = arrays((u, y))
    forward = -np.mean((np.exp(log_softmax(y)) * log_softmax(ahead)).sum(-1))
    backward = -np.mean((np.exp(log_softmax(back)) * log_softmax(u)).sum(-1))
    (loss, metrics), _ = loss_of(part, params, batch, key)
    assert float(metrics["forward"]) == pytest.approx(forward, rel=1e-5)
    assert float(loss) == pytest.approx(forward + backward, rel=1e-5)


def test_dual(batch, key):
    part = make("dual", expectile=0.8)
    params = part.init(key, SHAPES)
    batch = batch._replace(representation_goals=None)  # the value's own goals
    (loss, _), targets = loss_of(part, params, batch, key)
    rewards, masks = arrays(batch.value_goals[2:4])
    inputs = batch.observations, batch.value_goals.vectors, batch.actions
    critics = np.asarray(apply_ensemble(params.critic, *inputs), np.float64)[..., 0]
    copies = np.asarray(apply_ensemble(targets, *inputs), np.float64)[..., 0]
    psi = np.asarray(apply_ensemble(params.goal, batch.value_goals.vectors), np.float64)
    here = np.asarray(apply_ensemble(params.state, batch.observations), np.float64)
    there = np.asarray(apply_ensemble(params.state, batch.next_observations), np.float64)
    total = 0.0
    for e in range(2):
        for b in range(16):
            f, f_next = here[e, b] @ psi[e, b] / np.sqrt(6), there[e, b] @ psi[e, b] / np.sqrt(6)
            error = min(copies[:, b]) - f
            total += (0.8 if error >= 0 else 0.2) * error**2 / 32
            y = rewards[b] + 0.9 * masks[b] * f_next
            total += ((critics[0, b] - y) ** 2 + (critics[1, b] - y) ** 2) / 32
    assert float(loss) == pytest.approx(total, rel=1e-5)


def size(tree) -> float:
    return sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(tree))


def test_dual_gradients_stay_apart(batch, key):
    """The critic's error does not train phi and psi, the expectile does not train the critic, the copies train nothing."""
    part = make("dual")
    params = part.init(key, SHAPES)
    targets = part.targets(params)
    by = lambda name: jax.grad(lambda p: part.loss(p, targets, batch, key)[1][name])(params)
    assert size((by("critic").state, by("critic").goal)) == 0
    assert size(by("critic").critic) > 0
    assert size(by("expectile").critic) == 0
    assert size(by("expectile").state) > 0
    assert size(by("expectile").goal) > 0
    assert part.targets(params) is params.critic


def test_byol_targets_are_constant(batch, key):
    """Forward: nothing through the later state's embedding. Backward: nothing through the state's."""
    part = make("byol")
    params = part.init(key, SHAPES)
    by = lambda name: jax.grad(lambda p: part.loss(p, (), batch, key)[1][name])(params)
    assert size(by("forward").backward) == 0
    assert size(by("backward").forward) == 0
    frozen = batch._replace(representation_goals=batch.representation_goals._replace(vectors=batch.observations))

    def forward(later):
        changed = frozen._replace(representation_goals=frozen.representation_goals._replace(vectors=later))
        return part.loss(params, (), changed, key)[1]["forward"]

    assert size(jax.grad(forward)(batch.observations)) == 0

    def backward(here):
        return part.loss(params, (), frozen._replace(positions=here), key)[1]["backward"]

    assert size(jax.grad(backward)(batch.observations)) == 0


@pytest.mark.parametrize("name", NAMES)
def test_encoding_has_its_width_ignores_the_state_and_repeats(name, key):
    part = make(name)
    params = part.init(key, SHAPES)
    states, others, goals = jax.random.normal(key, (3, 5, 2))
    seen = part.encode(params, states, goals, key)
    assert seen.shape == (5, part.width(2)) == (5, 6)
    assert (seen == part.encode(params, others, goals, key)).all()
    again = part.encode(params, states, goals, jax.random.key(9))
    assert (seen == again).all() == (name != "vib")  # the bottleneck draws


def test_all_goals_at_once_is_every_pair(key):
    part = make("dual")
    params = part.init(key, SHAPES)
    states, goals = jax.random.normal(key, (4, 2)), jax.random.normal(jax.random.key(2), (7, 2))
    every = part.outer(params, states[:, None], goals)
    assert every.shape == (2, 4, 7)
    for i in range(4):
        for j in range(7):
            assert np.allclose(every[:, i, j], part.at(params, states[i], goals[j]), atol=1e-5)
