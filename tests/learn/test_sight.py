"""What networks see of images: who owns an encoder, what trains it, and what is shifted together."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pictures import SHAPE, eye, pictured

from conftest import small_recipe, walk
from mvl.data.goals import on_device
from mvl.encoders.identity import Identity
from mvl.errors import UsageError
from mvl.learn.learner import Learner
from mvl.learn.sight import Direct, Early, Late
from mvl.recipes.recipe import Learning, make_part
from mvl.runs.data import shapes_of


def learner_of(name: str, fusion: str = "early", data=None, **settings) -> Learner:
    recipe = small_recipe(name, encoder=eye(fusion, **settings), learning=Learning(batch_size=8))
    return Learner(recipe, shapes_of(pictured() if data is None else data, recipe.learning))


def started(learner: Learner, data=None):
    """A state and a batch."""
    state = learner.init(jnp.asarray(0))
    return state, learner.sample(on_device(pictured() if data is None else data), jax.random.key(1))


def size(tree) -> float:
    return sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(tree))


def gradient_of(learner: Learner, name: str, state, batch):
    """Gradient of the loss of one part by all parameters."""

    def one(params):
        return learner.loss(params, state.targets, batch, jax.random.key(2))[1][f"{name}/loss"]

    return jax.jit(jax.grad(one))(state.params)


def test_numbers_are_seen_as_they_are():
    data = walk()
    recipe = small_recipe("gcivl")
    learner = Learner(recipe, shapes_of(data, recipe.learning))
    state, batch = started(learner, data)
    assert isinstance(learner.sight, Direct)
    assert learner.sight.augmented(jax.random.key(0), batch) is batch
    assert all(seen is batch for seen in learner.sight.seen((), (), batch))
    assert state.params.encoder == state.targets.encoder == ()


def test_early_fusion_has_an_encoder_of_the_pair_per_network_and_a_slow_copy_of_the_values():
    learner = learner_of("gcivl")
    state, batch = started(learner)
    assert isinstance(learner.sight, Early)
    assert state.params.encoder.value.stacks[0].first.kernel.shape == (9 * 6, 4)  # observation and goal stacked
    assert state.params.value.hidden[0].kernel.shape == (2, 6, 16)  # no other input than the latent vector
    value, policy = (gradient_of(learner, name, state, batch) for name in ("value", "policy"))
    assert size(value.encoder.value) > 0 == size(value.encoder.policy)
    assert size(policy.encoder.policy) > 0 == size(policy.encoder.value)
    assert size(policy.value) == 0
    moved = jax.tree.map(lambda leaf: leaf + 1, state.params)
    after, _ = jax.jit(learner.update)(state._replace(params=moved), batch)
    wanted = jax.tree.map(lambda old: old + learner.recipe.learning.target_rate, state.targets.encoder)
    for found, expected in zip(*map(jax.tree.leaves, (after.targets.encoder, wanted)), strict=True):
        assert np.allclose(found, expected, atol=1e-6)


def test_imitation_has_one_encoder():
    state, _ = started(learner_of("bc"))
    assert state.params.encoder.value == state.targets.encoder == ()


def test_late_fusion_has_one_encoder_which_goals_of_the_policy_and_advantages_do_not_train():
    learner = learner_of("gcivl", "late")
    state, batch = started(learner)
    assert isinstance(learner.sight, Late)
    assert state.params.encoder.stacks[0].first.kernel.shape == (9 * 3, 4)
    assert learner.sight.shapes.goal == learner.sight.shapes.observation == 6
    seen = jax.jit(jax.grad(lambda params: sum(
        jnp.square(part).sum() for batch in [learner.sight.seen(params, (), batch)]
        for part in (batch.policy.actor_goals.vectors, batch.advantage.observations, batch.points.observations)
    )))(state.params.encoder)  # fmt: skip
    assert size(seen) == 0
    for name in ("value", "policy"):
        assert size(gradient_of(learner, name, state, batch).encoder) > 0


@pytest.mark.parametrize("fusion", ["early", "late"])
@pytest.mark.parametrize("name", ["gcivl-mvl", "gcivl-slope"])
def test_regularizers_shape_the_value_in_latent_space_and_the_encoder_only_if_asked(fusion, name):
    state, batch = started(learner_of(name, fusion))
    for shaped in (False, True):
        learner = learner_of(name, fusion, shaped_by_regularizer=shaped)
        steep = state.params._replace(value=jax.tree.map(lambda leaf: 3 * leaf, state.params.value))
        found = gradient_of(learner, "regularizer", state._replace(params=steep), batch)
        assert size(found.value) > 0
        assert (size(found.encoder) > 0) == shaped


@pytest.mark.parametrize("fusion", ["early", "late"])
def test_regularizers_of_a_constant_head_are_zero_unless_they_ask_for_a_slope(fusion):
    for name, expected in (("gcivl-mvl", 0.0), ("gcivl-eik", 2.0), ("gcivl-slope", 2.0)):
        learner = learner_of(name, fusion)
        learner = replace(learner, recipe=replace(learner.recipe, regularizer=replace(learner.recipe.regularizer, weight=1.0)))
        state, batch = started(learner)
        output = jax.tree.map(jnp.zeros_like, state.params.value.output)
        flat = state.params._replace(value=state.params.value._replace(output=output))
        metrics = jax.jit(learner.loss)(flat, state.targets, batch, jax.random.key(0))[1]
        assert float(metrics["regularizer/loss"]) == pytest.approx(expected, abs=1e-4)


def test_shifts_are_the_same_for_an_observation_and_its_goals_and_others_for_others():
    _, batch = started(learner_of("gcivl"))
    image = np.random.default_rng(0).integers(0, 255, (1, int(np.prod(SHAPE))), dtype=np.uint8)
    same = batch.mapped(lambda rows: jnp.repeat(jnp.asarray(image), len(rows), axis=0))
    found = learner_of("gcivl", augment=1.0).sight.augmented(jax.random.key(3), same)
    moved = found.observations
    assert moved.dtype == jnp.uint8
    assert all(jnp.array_equal(moved, other) for other in (found.next_observations, found.value_goals.vectors,
                                                           found.actor_goals.vectors))  # fmt: skip
    assert len(np.unique(moved, axis=0)) > 4
    never = learner_of("gcivl", augment=0.0).sight.augmented(jax.random.key(3), same)
    assert jnp.array_equal(never.observations, same.observations)
    often = [learner_of("gcivl").sight.augmented(jax.random.key(n), same).observations for n in range(40)]
    assert 10 < sum(not jnp.array_equal(one, same.observations) for one in often) < 30


def test_an_observation_with_its_history_is_shifted_and_stacked_as_a_whole():
    data = pictured()
    recipe = small_recipe("gcivl", encoder=eye(augment=1.0), learning=Learning(batch_size=8, history=2))
    learner = Learner(recipe, shapes_of(data, recipe.learning))
    batch = learner.sample(on_device(data, history=2), jax.random.key(0))
    rows = batch.observations
    pictures = learner.sight.pictures(rows)
    assert pictures.shape == (8, 8, 8, 6)
    older, newer = jnp.split(rows, 2, axis=1)
    assert jnp.array_equal(pictures[..., 3:].reshape(8, -1), newer)
    twice = batch._replace(observations=jnp.concatenate([newer, newer], axis=1))
    found = learner.sight.augmented(jax.random.key(1), twice).observations
    assert jnp.array_equal(*jnp.split(found, 2, axis=1))
    assert not jnp.array_equal(found, twice.observations)
    assert learner.init(jnp.asarray(0)).params.encoder.value.stacks[0].first.kernel.shape == (9 * 9, 4)
    assert older.shape == newer.shape


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("dual", "no goal can be represented; choose --encoder.fusion late"),
        ("gciql", "needs a value of states alone with target networks, which implicit_q is not"),
        ("crl", "which contrastive is not; choose --encoder.fusion late"),
    ],
)
def test_early_fusion_refuses_what_needs_a_goal_alone(name, reason):
    assert small_recipe(name, encoder=eye("late"))
    with pytest.raises(UsageError, match=reason):
        small_recipe(name, encoder=eye("early"))


def test_histories_policies_and_plans_that_an_encoder_cannot_serve_are_refused():
    with pytest.raises(UsageError, match="cannot read a history; choose --encoder.fusion early"):
        small_recipe("gcivl", encoder=eye("late"), learning=Learning(history=2))
    with pytest.raises(UsageError, match="policy hierarchical asks the value about other states"):
        small_recipe("gcivl", encoder=eye(), policy=make_part("policy", "hierarchical"))
    learner = learner_of("gcivl")
    state, batch = started(learner)
    with pytest.raises(UsageError, match="early fusion encodes every pair anew"):
        learner.steps_to_go(state.params, batch.observations, batch.observations, jax.random.key(0))
    assert learner_of("gcivl", "late").recipe.check_plan() is None


def test_encoders_and_data_must_fit():
    for encoder, image, reason in (
        (Identity(), SHAPE, "images, which encoder identity does not take; choose --encoder impala"),
        (eye(), None, "numbers, which encoder impala does not take; choose --encoder identity"),
    ):
        with pytest.raises(UsageError, match=reason):
            small_recipe("gcivl", encoder=encoder).check_images(image)
    for setting, reason in (({"cost": "auto"}, "give a number for images"), ({"scale": "std"}, "images need scale='raw'")):
        regularizer = make_part("regularizer", "mollified", **setting)
        with pytest.raises(UsageError, match=reason):
            small_recipe("gcivl", encoder=eye(), regularizer=regularizer).check_images(SHAPE)
