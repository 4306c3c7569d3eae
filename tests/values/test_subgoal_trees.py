"""TDP and COE, the two reconstructions: their targets sub-goal by sub-goal in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.batches import BatchRequest, GoalMix
from mvl.data.goals import on_device, sample
from mvl.types import Shapes
from mvl.values.compositional import Compositional
from mvl.values.subgoal_tree import SubgoalTree
from values.by_hand import as_told, entropy, logits, sigmoid, told_walk

COUNT, SUBGOALS, DISCOUNT = 16, 5, 0.9
SHAPES = Shapes(2, 2, 3, represented=3, plain=False)
PARTS = [SubgoalTree(subgoals=SUBGOALS, widths=(8,)), Compositional(subgoals=SUBGOALS, widths=(8,))]
each = pytest.mark.parametrize("part", PARTS, ids=["tdp", "coe"])


def act(states, goals):
    """A policy that needs both where it is and the goal as told."""
    return jnp.tanh(states - goals[..., :2] + goals[..., 2:])


def act_by_hand(state, goal):
    return np.tanh(state - goal[:2] + goal[2:])


def loud(params):
    """Predictions that are spread over (0, 1), other ones from each head."""

    def louder(mlp):
        return mlp._replace(output=mlp.output._replace(kernel=3 * mlp.output.kernel, bias=mlp.output.bias + 1))

    return params._replace(states=louder(params.states), told=louder(params.told))


@pytest.fixture
def params(key):
    return loud(PARTS[0].init(key, SHAPES))


@pytest.fixture
def copies():
    return loud(PARTS[0].init(jax.random.key(5), SHAPES)).states


@pytest.fixture
def batch(key):
    """Goals told as three numbers that are not the state; the first three are the state itself, the next, and far ones."""
    rows = on_device(told_walk())
    drawn = sample(key, rows, COUNT, (GoalMix(), GoalMix(0.0, 1.0, 0.0, False)), BatchRequest(), DISCOUNT)
    goals = drawn.value_goals
    offsets = goals.offsets.at[:4].set(jnp.array([0, 1, 2, -1]))
    return drawn._replace(value_goals=goals._replace(offsets=offsets))


def reach(copies, states, actions, goals):
    """Q' of one pair after the other, (heads, pairs)."""
    return sigmoid(logits(copies, *(jnp.asarray(np.stack(array), jnp.float32) for array in (states, actions, goals))))


def ways(copies, batch, part):
    """For each pair: the products over its sub-goals (heads, COUNT, SUBGOALS), and the Bellman term (heads, COUNT)."""
    states, actions, following = (np.asarray(x) for x in (batch.observations, batch.actions, batch.next_observations))
    ends, told = np.asarray(batch.value_goals.states), np.asarray(batch.value_goals.vectors)
    pairs = [(i, w) for i in range(COUNT) for w in range(SUBGOALS)]
    policy = isinstance(part, Compositional)
    first = reach(copies, [states[i] for i, _ in pairs], [actions[i] for i, _ in pairs], [states[w] for _, w in pairs])
    at_subgoal = [act_by_hand(states[w], told[i]) if policy else actions[w] for i, w in pairs]
    second = reach(copies, [states[w] for _, w in pairs], at_subgoal, [ends[i] for i, _ in pairs])
    onward = reach(copies, following, [act_by_hand(following[i], told[i]) for i in range(COUNT)], ends)
    return (first * second).reshape(2, COUNT, SUBGOALS), DISCOUNT * onward


def targets_by_hand(copies, batch, part):
    products, bellman = ways(copies, batch, part)
    offsets = np.asarray(batch.value_goals.offsets)
    y = np.zeros((2, COUNT))
    for e, b in np.ndindex(y.shape):
        best = max(products[e, b])
        if isinstance(part, Compositional):
            best = max(best, bellman[e, b])
        y[e, b] = 1 if offsets[b] == 0 else DISCOUNT if offsets[b] == 1 else best
    return y


def target_of(part, copies, batch, policy=act):
    found = part.target(copies, batch, policy) if isinstance(part, Compositional) else part.target(copies, batch)
    return np.asarray(found)


@each
def test_targets(part, copies, batch):
    found = target_of(part, copies, batch)
    assert found.shape == (2, COUNT)
    assert np.allclose(found, targets_by_hand(copies, batch, part), rtol=1e-4)
    assert len(np.unique(np.round(found, 4))) > COUNT  # the heads and the goals differ


@each
def test_what_needs_no_learning(part, copies, batch):
    """A state reaches itself at once and the next in a step; a goal one row behind is like any other."""
    nothing = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), copies)
    found = target_of(part, nothing, batch)
    assert (found[:, 0] == 1).all()
    assert np.allclose(found[:, 1], DISCOUNT)
    assert np.isnan(found[:, 2:4]).all()


@each
def test_loss_is_plain_cross_entropy_and_the_told_heads_follow(part, params, copies, batch):
    y = targets_by_hand(copies, batch, part)
    inputs = batch.observations, batch.actions
    found, told = (
        logits(params.states, *inputs, batch.value_goals.states),
        logits(params.told, *inputs, batch.value_goals.vectors),
    )
    first = sum(entropy(found[e, b], y[e, b]) for e, b in np.ndindex(y.shape)) / (2 * COUNT)
    second = sum(entropy(told[e, b], sigmoid(found[e, b])) for e, b in np.ndindex(y.shape)) / (2 * COUNT)
    loss, metrics = part.loss(params, copies, batch, as_told, act)
    assert float(loss) == pytest.approx(first + second, rel=1e-4)
    assert float(metrics["distilled"]) == pytest.approx(second, rel=1e-4)


@each
def test_without_an_oracle_there_is_one_critic(part, copies, batch, key):
    params = part.init(key, Shapes(2, 2, 2, represented=2))
    plain = batch._replace(value_goals=batch.value_goals._replace(vectors=batch.value_goals.states))
    policy = lambda states, goals: jnp.tanh(states - goals)
    assert params.told is None
    loss, _ = part.loss(params, copies, plain, as_told, policy)
    y = target_of(part, copies, plain, policy)
    found = logits(params.states, plain.observations, plain.actions, plain.value_goals.states)
    assert float(loss) == pytest.approx(entropy(found, y).mean(), rel=1e-4)


@each
def test_only_the_first_transitions_are_subgoals(part, copies, batch):
    """What lies behind them in the batch changes no other pair's target."""
    moved = batch._replace(observations=batch.observations.at[SUBGOALS:].add(1.0))
    kept = target_of(part, copies, batch)[:, :SUBGOALS]
    assert np.allclose(target_of(part, copies, moved)[:, :SUBGOALS], kept, atol=1e-6)
    nudged = batch._replace(observations=batch.observations.at[SUBGOALS - 1].add(1.0))
    others = slice(SUBGOALS, None)
    assert not np.allclose(target_of(part, copies, nudged)[:, others], target_of(part, copies, batch)[:, others], atol=1e-6)


@each
def test_critic_answers_in_logits_of_the_told_goal(part, params, batch):
    goals = batch.actor_goals.vectors
    found = part.critic(params, batch.observations, batch.actions, goals)
    assert np.allclose(found, logits(params.told, batch.observations, batch.actions, goals), atol=1e-5)
    assert part.targets(params) is params.states


def test_bellman_competes_with_the_compositions(copies, batch):
    """Both win somewhere, and each pair takes the better."""
    part = PARTS[1]
    products, bellman = ways(copies, batch, part)
    learned = ~np.isin(np.asarray(batch.value_goals.offsets), [0, 1])
    composed, onward, found = products.max(axis=2)[:, learned], bellman[:, learned], target_of(part, copies, batch)[:, learned]
    assert (composed > onward).any()
    assert (composed < onward).any()
    assert np.allclose(found, np.where(composed > onward, composed, onward), rtol=1e-4)


def test_compositional_asks_the_policy_at_subgoals_and_next_states_with_told_goals(copies, batch):
    asked = []

    def spy(states, goals):
        asked.append((np.asarray(states), np.asarray(goals)))
        return act(states, goals)

    target_of(PARTS[1], copies, batch, spy)
    places = {states.shape: (states, goals) for states, goals in asked}
    assert set(places) == {(SUBGOALS, 1, 2), (COUNT, 2)}
    assert (places[SUBGOALS, 1, 2][0][:, 0] == np.asarray(batch.observations[:SUBGOALS])).all()
    assert (places[COUNT, 2][0] == np.asarray(batch.next_observations)).all()
    for _, goals in asked:
        assert (goals == np.asarray(batch.value_goals.vectors)).all()
