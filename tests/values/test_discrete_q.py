"""The deep Q-learner's loss by hand numbers and in NumPy; the greedy policy on it; one whole step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import discrete, small_recipe, walk
from mvl.batches import Batch, BatchRequest, GoalMix, Goals
from mvl.data.goals import on_device, sample
from mvl.errors import UsageError
from mvl.learn.learner import Learner
from mvl.nets.heads import ActionHead
from mvl.nets.mlp import MLP, Dense, apply_ensemble
from mvl.policies.greedy import Greedy
from mvl.recipes.recipe import make_part
from mvl.runs.data import shapes_of
from mvl.types import PolicyView, Shapes, ValueFunctions
from mvl.values.discrete_q import DiscreteQ, shares

COUNT, DISCOUNT = 16, 0.9
PART = DiscreteQ(widths=(8,))
KEY = jax.random.key(0)
AS_TOLD = lambda states, goals: goals


def no_policy(states, goals):
    raise AssertionError("deep Q-learning does not ask the policy")


def tilted(states, goals):
    """A goal that looks different from different states."""
    return goals + 0.5 * states


def table(*rows: tuple[float, ...]) -> MLP:
    """A network without hidden layers whose outputs for the i-th of some one-hot states are the i-th row, whatever the goal."""
    weights = jnp.concatenate([jnp.asarray(rows), jnp.zeros((1, len(rows[0])))])
    return MLP((), (), Dense(weights[None], jnp.zeros((1, len(rows[0])))))


def test_target_by_hand():
    """Two states and three actions: y = -1 + 0.9 max(1, 4, 2) = 2.6 and, at the goal, 0."""
    states, after, goals = jnp.eye(2), jnp.eye(2)[::-1], jnp.zeros((2, 1))
    told = Goals(goals, states, jnp.array([-1.0, 0.0]), jnp.array([1.0, 0.0]), jnp.array([3, 0]))
    actions = jax.nn.one_hot(jnp.array([2, 0]), 3)
    batch = Batch(states, actions, after, goals, told, told, jnp.asarray(0.9))
    params, targets = table((5.0, 6.0, 1.6), (0.5, 9.0, 9.0)), table((7.0, 8.0, 9.0), (1.0, 4.0, 2.0))
    loss, metrics = PART.loss(params, targets, batch, AS_TOLD, no_policy)
    assert float(metrics["target"]) == pytest.approx((2.6 + 0) / 2)
    assert float(loss) == pytest.approx(((1.6 - 2.6) ** 2 + (0.5 - 0) ** 2) / 2)
    assert PART.state_value(params, states, goals).tolist() == [[6.0, 9.0]]
    assert PART.advantage(params, batch, goals, AS_TOLD).tolist() == pytest.approx([1.6 - 6, 0.5 - 9])


@pytest.fixture(scope="module")
def prepared():
    """Parameters, others as their target network, and a batch with its actions as vectors."""
    data = discrete(walk(), (3,))
    shapes = Shapes(2, 3, 2, represented=2, levels=(3,))
    rows, mixes = on_device(data), (GoalMix(), GoalMix(0.0, 1.0, 0.0, False))

    @jax.jit
    def made():
        batch = sample(KEY, rows, COUNT, mixes, BatchRequest(), DISCOUNT)
        return PART.init(KEY, shapes), PART.init(jax.random.key(7), shapes), ActionHead((3,)).with_vectors(batch)

    return made()


def test_loss(prepared):
    params, targets, batch = prepared
    goals = batch.value_goals.vectors
    outputs = lambda mlp, states: np.asarray(apply_ensemble(mlp, states, tilted(states, goals)), np.float64)[0]
    here, after = outputs(params, batch.observations), outputs(targets, batch.next_observations)
    expected = 0.0
    for b in range(COUNT):
        y = float(batch.value_goals.rewards[b]) + DISCOUNT * float(batch.value_goals.masks[b]) * max(after[b])
        expected += (here[b, int(batch.actions[b].argmax())] - y) ** 2 / COUNT
    loss, _ = PART.loss(params, targets, batch, tilted, no_policy)
    assert float(loss) == pytest.approx(expected, rel=1e-4)


def test_goals_inside_the_target_are_constant(prepared):
    params, targets, batch = prepared
    told = batch.value_goals.vectors

    def loss(here, there):
        at = lambda states, goals: jnp.where((states == batch.observations).all(), here, there)
        return PART.loss(params, targets, batch, at, no_policy)[0]

    here, there = jax.grad(loss, argnums=(0, 1))(told, told)
    assert float(jnp.abs(here).sum()) > 0
    assert float(jnp.abs(there).sum()) == 0


def test_goals_are_those_of_the_appendix():
    assert DiscreteQ.goal_mix == GoalMix(current=0.2, trajectory=0.5, random=0.3, geometric=True)


def test_two_actions_are_one_number():
    assert shares(jnp.array([[-1.0], [1.0], [0.5]])).tolist() == [[1.0, 0.0], [0.0, 1.0], [0.25, 0.75]]
    assert shares(jnp.eye(3)).tolist() == np.eye(3).tolist()
    assert ActionHead((2,)).every_action().tolist() == [[-1.0], [1.0]]
    assert ActionHead((3,)).every_action().tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("levels", [(), (0,), (2, 3)])
def test_what_compares_all_actions_needs_one_discrete_dimension(levels):
    learner = small_recipe("gciql", value=PART, policy=Greedy())
    with pytest.raises(UsageError, match="value discrete_q compares all actions, which needs data with one discrete action dim"):
        learner.check_actions(levels)
    with pytest.raises(UsageError, match="policy greedy compares all actions, .* choose another policy for this data"):
        small_recipe("gciql", policy=Greedy()).check_actions(levels)
    with pytest.raises(UsageError, match="needs one discrete action dimension"):
        PART.init(KEY, Shapes(2, 5, 2, represented=2, levels=levels))
    learner.check_actions((2,))


def critic(states, actions, goals):
    """Two heads that disagree on the third action; the second is worth as much as the goal's first number."""
    first = jnp.stack([0 * goals[..., 0], goals[..., 0], 0 * goals[..., 0] + 3], axis=-1)[..., 0, :]
    heads = jnp.stack([first, first.at[..., 2].set(-3.0)])
    return (heads[..., None, :] * actions).sum(-1)


def acting(temperature: float, goals: jax.Array) -> list[int]:
    view = PolicyView(AS_TOLD, AS_TOLD, ActionHead((3,)), ValueFunctions(None, critic, None))
    found = Greedy().act((), goals, goals, view, KEY, jnp.asarray(temperature))
    assert found.shape == (len(goals), 3)
    return found.argmax(-1).tolist()


def test_the_greedy_action_is_the_best_by_the_smaller_head():
    assert acting(0.0, jnp.array([[1.0], [-1.0], [4.0]])) == [1, 0, 1]


def test_a_temperature_draws_from_the_softmax():
    chosen = np.bincount(acting(0.5, jnp.full((4000, 1), 0.5)), minlength=3) / 4000
    worth = np.exp(np.array([0.0, 0.5, -3.0]) / 0.5)
    assert chosen == pytest.approx(worth / worth.sum(), abs=0.03)


def test_a_step_in_a_recipe():
    """Regularized; finite, and the learner acts by its own value."""
    data = discrete(walk(), (3,))
    recipe = small_recipe("gciql-mvl", value=PART, policy=make_part("policy", "greedy")).fit(data.statistics)
    learner = Learner(recipe, shapes_of(data))
    rows = on_device(data)

    @jax.jit
    def run(seed):
        state = learner.init(seed)
        after, metrics = learner.update(state, learner.sample(rows, KEY))
        goals = rows.goals[:8]
        value = learner.value_functions(after.params)
        action = learner.act(after.params, data.observations[:8], goals, KEY, jnp.zeros(()))
        every = value.critic(data.observations[:8, None], jnp.eye(3), goals[:, None])[0]
        return after.params, metrics, action, every

    params, metrics, action, every = run(jnp.asarray(0))
    assert all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves((params, metrics)))
    assert action[:, 0].tolist() == every.argmax(-1).tolist()
    assert params.policy == ()
