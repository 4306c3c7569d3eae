"""TRL's loss against an independent statement in NumPy, case by case."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import walk
from mvl.batches import BatchRequest, GoalMix, Midpoints
from mvl.data.goals import on_device, sample
from mvl.nets.heads import ActionHead
from mvl.policies.gradient import Gradient
from mvl.types import PolicyView, Shapes, ValueFunctions
from mvl.values.transitive import Transitive
from values.by_hand import as_told, entropy, logits, sigmoid, told_walk

COUNT, DISCOUNT = 48, 0.9


def no_policy(states, goals):
    raise AssertionError("TRL does not ask the policy")


def loud(params):
    """Predictions that are spread over (0, 1), other ones from each head."""

    def louder(mlp):
        return mlp and mlp._replace(output=mlp.output._replace(kernel=3 * mlp.output.kernel))

    return params._replace(states=louder(params.states), told=louder(params.told))


@pytest.fixture
def part():
    return Transitive(expectile=0.8, distance_power=0.6, widths=(8,))


@pytest.fixture
def params(part, key):
    return loud(part.init(key, Shapes(2, 2, 2, represented=2)))


@pytest.fixture
def told_params(part, key):
    return loud(part.init(key, Shapes(2, 2, 3, represented=3, plain=False)))


@pytest.fixture
def copies(part):
    return loud(part.init(jax.random.key(5), Shapes(2, 2, 2, represented=2))).states


def batch_from(data, key):
    return sample(
        key, on_device(data), COUNT, (Transitive.goal_mix, GoalMix(0.0, 1.0, 0.0, False)), BatchRequest(midpoints=True), DISCOUNT
    )


@pytest.fixture
def batch(key):
    return batch_from(walk(), key)


@pytest.fixture
def oracle_batch(key):
    return batch_from(told_walk(), key)


@pytest.fixture
def adjacent(batch):
    """The goal is the next state, and the midpoint the state itself."""
    here = Midpoints(batch.observations, batch.actions, jnp.zeros(COUNT, int))
    goals = batch.value_goals._replace(states=batch.next_observations, offsets=jnp.ones(COUNT, int))
    return batch._replace(midpoints=here, value_goals=goals)


def targets_by_hand(copies, batch):
    """y_e from the copies of the same head; what is a step or less is known."""
    middle, goals = batch.midpoints, batch.value_goals
    first = sigmoid(logits(copies, batch.observations, batch.actions, middle.states))
    second = sigmoid(logits(copies, middle.states, middle.actions, goals.states))
    to_middle, to_goal = np.asarray(middle.offsets), np.asarray(goals.offsets)
    y = np.zeros((2, COUNT))
    for e, b in np.ndindex(y.shape):
        from_middle = to_goal[b] - to_middle[b]
        one = DISCOUNT ** to_middle[b] if to_middle[b] <= 1 else first[e, b]
        other = DISCOUNT**from_middle if from_middle <= 1 else second[e, b]
        y[e, b] = one * other
    return y


def weighed(params, y, batch, expectile, power):
    """The weight of each head and sample, and the logits."""
    found = logits(params.states, batch.observations, batch.actions, batch.value_goals.states)
    weight = np.zeros_like(y)
    for e, b in np.ndindex(y.shape):
        side = expectile if y[e, b] >= sigmoid(found[e, b]) else 1 - expectile
        weight[e, b] = side * (1 / (1 + np.log(y[e, b]) / np.log(DISCOUNT))) ** power
    return weight, found


def test_batch_has_all_cases(batch):
    middle, goal = np.asarray(batch.midpoints.offsets), np.asarray(batch.value_goals.offsets)
    assert set(np.minimum(middle, 2).tolist()) == {0, 1, 2}
    assert set(np.minimum(goal - middle, 2).tolist()) == {1, 2}
    assert goal.min() == 1


@pytest.mark.parametrize(("expectile", "power"), [(0.8, 0.6), (0.7, 0.0), (0.5, 2.0)])
def test_loss(params, copies, batch, expectile, power):
    y = targets_by_hand(copies, batch)
    weight, found = weighed(params, y, batch, expectile, power)
    assert 0.1 < (y >= sigmoid(found)).mean() < 0.9
    expected = sum(weight[e, b] * entropy(found[e, b], y[e, b]) for e, b in np.ndindex(y.shape)) / (2 * COUNT)
    part = Transitive(expectile=expectile, distance_power=power, widths=(8,))
    loss, _ = part.loss(params, copies, batch, as_told, no_policy)
    assert float(loss) == pytest.approx(expected, rel=1e-4)


def test_weights_and_targets_are_constant(part, params, copies, batch):
    """Then the gradient by a head's last bias is the mean of w (Q - y), which has no other term."""
    y = targets_by_hand(copies, batch)
    weight, found = weighed(params, y, batch, 0.8, 0.6)
    gradient = jax.grad(lambda p: part.loss(p, copies, batch, as_told, no_policy)[0])(params).states.output.bias
    for e in range(2):
        slopes = [weight[e, b] * (sigmoid(found[e, b]) - y[e, b]) for b in range(COUNT)]
        assert float(gradient[e, 0]) == pytest.approx(sum(slopes) / (2 * COUNT), rel=1e-4)


def test_adjacent_pairs_need_no_copies(part, params, copies, adjacent):
    """y = discount^0 discount^1, and the weight is for one step: (1 + 1)^-power."""
    nothing = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), copies)
    assert np.allclose(np.exp(part.log_target(nothing, adjacent, adjacent.midpoints)), DISCOUNT)
    flat = Transitive(expectile=0.5, distance_power=0.0, widths=(8,)).loss(params, nothing, adjacent, as_told, no_policy)[0]
    steep = Transitive(expectile=0.5, distance_power=3.0, widths=(8,)).loss(params, nothing, adjacent, as_told, no_policy)[0]
    found = logits(params.states, adjacent.observations, adjacent.actions, adjacent.next_observations)
    assert float(flat) == pytest.approx(0.5 * entropy(found, DISCOUNT).mean(), rel=1e-5)  # power 0 weighs all alike
    assert float(steep) == pytest.approx(float(flat) / 8, rel=1e-5)


def test_each_head_learns_from_its_own_copy(part, copies, batch):
    swapped = jax.tree.map(lambda leaf: leaf[::-1], copies)
    straight = np.asarray(part.log_target(copies, batch, batch.midpoints))
    assert np.allclose(part.log_target(swapped, batch, batch.midpoints), straight[::-1], atol=1e-5)
    assert not np.allclose(straight[0], straight[1], atol=1e-2)
    assert np.allclose(np.exp(straight), targets_by_hand(copies, batch), rtol=1e-4)


@pytest.mark.parametrize(("level", "counts_when"), [(-30.0, 1.0), (30.0, 0.0)])
def test_expectile_sides(params, copies, batch, level, counts_when):
    """A prediction below every target is an under-estimate and weighs kappa, one above weighs 1 - kappa."""
    flat = params.states.output._replace(kernel=0 * params.states.output.kernel, bias=jnp.full((2, 1), level))
    params = params._replace(states=params.states._replace(output=flat))
    for expectile in (0.0, 1.0):
        loss, _ = Transitive(expectile=expectile, widths=(8,)).loss(params, copies, batch, as_told, no_policy)
        assert (float(loss) > 1) == (expectile == counts_when)
        assert (float(loss) == 0) == (expectile != counts_when)


def test_critic_answers_in_logits(part, params, batch):
    goals = batch.actor_goals.vectors
    found = part.critic(params, batch.observations, batch.actions, goals)
    assert found.shape == (2, COUNT)
    assert np.allclose(found, logits(params.states, batch.observations, batch.actions, goals), atol=1e-5)
    assert float(found.min()) < 0  # which no probability is
    assert part.targets(params) is params.states


def test_distilled_loss(part, told_params, copies, oracle_batch):
    """The critic of whole states as before; beside it two heads on told goals, each after its own head's prediction."""
    y = targets_by_hand(copies, oracle_batch)
    weight, found = weighed(told_params, y, oracle_batch, 0.8, 0.6)
    after = logits(told_params.told, oracle_batch.observations, oracle_batch.actions, oracle_batch.value_goals.vectors)
    first = sum(weight[e, b] * entropy(found[e, b], y[e, b]) for e, b in np.ndindex(y.shape)) / (2 * COUNT)
    second = sum(entropy(after[e, b], sigmoid(found[e, b])) for e, b in np.ndindex(y.shape)) / (2 * COUNT)
    loss, metrics = part.loss(told_params, copies, oracle_batch, as_told, no_policy)
    assert float(metrics["distilled"]) == pytest.approx(second, rel=1e-4)
    assert float(loss) == pytest.approx(first + second, rel=1e-4)


def size(tree) -> float:
    return sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(tree))


def test_distillation_trains_the_told_heads_alone(part, told_params, copies, oracle_batch):
    by = lambda p: part.loss(p, copies, oracle_batch, as_told, no_policy)[1]["distilled"]
    found = jax.grad(by)(told_params)
    assert size(found.told) > 0
    assert size(found.states) == 0


def test_policy_climbs_the_told_heads(part, told_params, oracle_batch, key):
    """With an oracle neither the critic nor the policy gradient sees the whole state to be reached."""
    goals = oracle_batch.actor_goals.vectors
    found = part.critic(told_params, oracle_batch.observations, oracle_batch.actions, goals)
    assert np.allclose(found, logits(told_params.told, oracle_batch.observations, oracle_batch.actions, goals), atol=1e-5)

    policy = Gradient(alpha=0.0, widths=(8,))
    actor = policy.init(key, Shapes(2, 2, 3, represented=3, plain=False))
    judge = ValueFunctions(None, lambda *args: part.critic(told_params, *args), None)
    view = PolicyView(as_told, lambda guesses: guesses, ActionHead())

    def loss(states):
        hidden = oracle_batch._replace(actor_goals=oracle_batch.actor_goals._replace(states=states))
        return policy.loss(actor, judge, hidden, view, key)[1]["worth"]

    actions = jnp.clip(policy.act(actor, oracle_batch.observations, goals, view, key, jnp.zeros(())), -1, 1)
    worth = logits(told_params.told, oracle_batch.observations, actions, goals).min(axis=0).mean()
    assert float(loss(jnp.full((COUNT, 2), jnp.nan))) == pytest.approx(worth, rel=1e-4)
