"""The composition: what sends gradient where, how the copies move, what a step does."""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import small_recipe
from mvl.batches import BatchRequest
from mvl.learn.learner import Learner, Parameters
from mvl.regularizers.mollified import Mollified
from mvl.regularizers.none import Unregularized
from mvl.types import Shapes

SHAPES = Shapes(observation=2, action=2, goal=2)


@dataclass(frozen=True)
class Scaled:
    """A representation with one weight, to see who trains it: z = w g."""

    request: ClassVar[BatchRequest] = BatchRequest()
    shaped_by_value: ClassVar[bool] = False
    looks_at_state: ClassVar[bool] = False
    own: float = 0.0

    def width(self, goal):
        return goal

    def init(self, key, shapes):
        return jnp.ones(())

    def targets(self, params):
        return ()

    def encode(self, params, states, goals, key):
        return params * goals

    def loss(self, params, targets, batch, key):
        return self.own * params, {}


@dataclass(frozen=True)
class ScaledByValue(Scaled):
    shaped_by_value: ClassVar[bool] = True


def learner_with(representation=None, **parts):
    recipe = small_recipe("gcivl", **parts)
    if representation is not None:
        object.__setattr__(recipe, "representation", representation)  # not registered, so not checked
    return Learner(recipe, SHAPES)


def gradients(learner, rows, key, part):
    """Gradient of one part's loss by all parameters."""
    state = learner.init(jnp.asarray(0))
    batch = learner.sample(rows, key)
    loss = lambda params: learner.loss(params, state.targets, batch, key)[1][f"{part}/loss"]
    return jax.grad(loss)(state.params)


def size(tree) -> float:
    return sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(tree))


def test_policy_loss_trains_the_policy_alone(rows, key):
    found = gradients(learner_with(ScaledByValue()), rows, key, "policy")
    assert size(found.policy) > 0
    assert size(found.value) == 0
    assert size(found.representation) == 0


@pytest.mark.parametrize("part", ["value", "regularizer"])
def test_value_and_regularizer_train_the_value_and_a_representation_that_allows_it(rows, key, part):
    steep = Mollified(weight=1.0, cost=0.0)  # asks something of any surface
    shaped = gradients(learner_with(ScaledByValue(), regularizer=steep), rows, key, part)
    assert size(shaped.value) > 0
    assert size(shaped.representation) > 0
    assert size(shaped.policy) == 0
    apart = gradients(learner_with(Scaled(), regularizer=steep), rows, key, part)
    assert size(apart.value) > 0
    assert size(apart.representation) == 0


def test_representation_loss_trains_the_representation_alone(rows, key):
    found = gradients(learner_with(Scaled(own=2.0)), rows, key, "representation")
    assert float(found.representation) == pytest.approx(2.0)
    assert size(found.value) == size(found.policy) == 0


def test_total_is_the_plain_sum(rows, key):
    learner = learner_with(regularizer=Mollified(weight=3.0, cost=0.0))
    state = learner.init(jnp.asarray(0))
    total, metrics = learner.loss(state.params, state.targets, learner.sample(rows, key), key)
    parts = [value for name, value in metrics.items() if name.endswith("/loss")]
    assert len(parts) == 4
    assert float(total) == pytest.approx(float(sum(parts)), rel=1e-6)


def test_targets_start_equal_and_follow_the_parameters_from_before_the_step(rows):
    learner = learner_with()
    first = learner.init(jnp.asarray(0))
    second, _ = learner.steps(first, rows, 1)
    third, _ = learner.steps(second, rows, 1)
    before, moved = first.params.value.hidden[0].kernel, second.params.value.hidden[0].kernel
    assert (first.targets.value.hidden[0].kernel == before).all()
    assert np.allclose(second.targets.value.hidden[0].kernel, before, atol=1e-7)  # not yet: it saw the old ones
    assert not np.allclose(moved, before, atol=1e-5)
    expected = 0.005 * moved + 0.995 * before
    assert np.allclose(third.targets.value.hidden[0].kernel, expected, atol=1e-7)


def test_first_step_of_adam_moves_every_touched_parameter_by_the_learning_rate(rows):
    learner = learner_with()
    first = learner.init(jnp.asarray(0))
    second, _ = learner.steps(first, rows, 1)
    moved = np.abs(np.asarray(second.params.value.output.bias - first.params.value.output.bias))
    assert np.allclose(moved, 3e-4, rtol=1e-3)


def test_many_steps_in_one_call_are_those_steps(rows):
    learner = learner_with(regularizer=Mollified())
    one = learner.init(jnp.asarray(3))
    for _ in range(4):
        one, _ = jax.jit(learner.steps, static_argnums=2)(one, rows, 1)
    many, metrics = jax.jit(learner.steps, static_argnums=2)(learner.init(jnp.asarray(3)), rows, 4)
    assert metrics["value/loss"].shape == (4,)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(many), strict=True):
        assert np.allclose(a, b, atol=1e-6)


def test_seeds_differ_and_repeat(rows):
    learner = learner_with()
    kernel = lambda seed: np.asarray(learner.steps(learner.init(jnp.asarray(seed)), rows, 1)[0].params.value.output.kernel)
    assert (kernel(1) == kernel(1)).all()
    assert not (kernel(1) == kernel(2)).all()


def test_an_unregularized_recipe_is_the_mollified_one_at_weight_zero(rows):
    start = jnp.asarray(0)
    plain = learner_with(regularizer=Unregularized())
    zero = learner_with(regularizer=Mollified(weight=0.0))
    a, _ = plain.steps(plain.init(start), rows, 1)
    b, _ = zero.steps(zero.init(start), rows, 1)
    for left, right in zip(jax.tree.leaves(a.params), jax.tree.leaves(b.params), strict=True):
        assert np.allclose(left, right, atol=1e-7)


def test_the_regularizer_starts_at_its_step(rows):
    """Until then training is that without its weight."""
    part = Mollified(weight=50.0, cost=0.0)
    recipe = small_recipe("gcivl-mvl", regularizer=part)
    late = replace(recipe, learning=replace(recipe.learning, regularizer_start=2))
    without = replace(recipe, regularizer=replace(part, weight=0.0))
    ends = {}
    for name, made in (("late", late), ("without", without)):
        learner = Learner(made, SHAPES)
        steps = [jax.jit(lambda state, learner=learner, n=n: learner.steps(state, rows, n)[0]) for n in (2, 3)]
        state = learner.init(jnp.asarray(0))
        ends[name] = [jax.tree.leaves(step(state).params.value) for step in steps]
    for same, wanted in enumerate((True, False)):
        pairs = zip(ends["late"][same], ends["without"][same], strict=True)
        assert all(np.allclose(a, b, atol=1e-6) for a, b in pairs) == wanted


def test_the_field_of_the_target_networks_is_theirs(rows, key):
    learner = Learner(small_recipe("gcivl-mvl"), SHAPES)
    state, other = learner.init(jnp.asarray(0)), learner.init(jnp.asarray(1))
    batch = learner.sample(rows, key)
    field = learner.field(state.params, batch, key, other.targets)
    copied = learner.field(other.params, batch, key)
    assert copied.target_at is None
    assert np.allclose(field.target_at(field.points, field.goals), copied.here, atol=1e-6)
    assert not np.allclose(field.here, copied.here)


def test_value_of_a_state_is_the_mean_of_the_heads(key):
    learner = learner_with()
    params: Parameters = learner.init(jnp.asarray(0)).params
    states, goals = jax.random.normal(key, (2, 6, 2))
    heads = learner.recipe.value.state_value(params.value, states, goals)
    assert np.allclose(learner.values(params, states, goals, key), heads.mean(0), atol=1e-6)


@pytest.mark.parametrize("name", ["vib", "vip", "tra", "byol", "dual"])
def test_who_trains_a_representation(name, rows, key):
    """The value loss and the regularizer train VIB alone; the policy loss trains none; each trains itself."""
    steep = Mollified(cost=0.0)
    learner = Learner(small_recipe(name, regularizer=steep), SHAPES)
    for part in ("value", "regularizer"):
        reached = size(gradients(learner, rows, key, part).representation) > 0
        assert reached == (name == "vib"), part
    assert size(gradients(learner, rows, key, "policy").representation) == 0
    own = gradients(learner, rows, key, "representation")
    assert size(own.representation) > 0
    assert size(own.value) == size(own.policy) == 0


def test_dual_critic_has_a_slow_copy_and_its_value_none(rows):
    learner = Learner(small_recipe("dual"), SHAPES)
    state = learner.init(jnp.asarray(0))
    after, _ = learner.steps(state, rows, 2)
    kernel = after.targets.representation.hidden[0].kernel
    assert kernel.shape == state.params.representation.critic.hidden[0].kernel.shape
    assert not np.allclose(kernel, after.params.representation.critic.hidden[0].kernel, atol=1e-7)


@pytest.mark.parametrize(
    ("regularized", "anchors", "own", "downstream"),
    [("downstream", 0, 0, 1), ("own", 0, 1, 0), ("both", 0, 1, 1), ("own", 4, 1, 0), ("both", 4, 1, 1)],
)
def test_dual_chooses_which_surface_is_regularized(rows, key, regularized, anchors, own, downstream):
    from dataclasses import replace

    recipe = small_recipe("dual", regularizer=Mollified(cost=0.0))
    recipe = replace(recipe, representation=replace(recipe.representation, regularized=regularized, anchors=anchors))
    found = gradients(Learner(recipe, SHAPES), rows, key, "regularizer")
    assert (size((found.representation.state, found.representation.goal)) > 0) == bool(own)
    assert size(found.representation.critic) == 0
    assert (size(found.value) > 0) == bool(downstream)


def test_eikonal_refuses_a_surface_of_all_goals(rows, key):
    from dataclasses import replace

    from mvl.errors import UsageError

    recipe = small_recipe("dual-eik")
    recipe = replace(recipe, representation=replace(recipe.representation, regularized="own", anchors=4))
    with pytest.raises(UsageError, match="anchors to 0"):
        gradients(Learner(recipe, SHAPES), rows, key, "regularizer")


def test_anchors_without_the_surface_they_belong_to_are_refused():
    from mvl.errors import UsageError
    from mvl.representations.dual import Dual

    with pytest.raises(UsageError, match="set regularized to own or both"):
        Dual(anchors=4)


@pytest.mark.parametrize("name", ["gcivl", "gciql"])
@pytest.mark.parametrize("fraction", [0.25, 1.0])
def test_the_regularizer_shares_the_value_losses_pass_and_nothing_changes(rows, key, name, fraction, monkeypatch):
    learner = Learner(small_recipe(name, regularizer=Mollified(weight=3.0, cost=0.0, fraction=fraction)), SHAPES)
    state, batch = learner.init(jnp.asarray(0)), learner.sample(rows, key)

    def found():
        """The gradient, and for how many of the batch's own states the trained value was asked."""
        asked = []
        offered = type(learner.recipe.value).state_value
        with monkeypatch.context() as patch:
            spy = lambda self, params, states, goals: asked.append(states.shape) or offered(self, params, states, goals)
            patch.setattr(type(learner.recipe.value), "state_value", spy)
            gradient = jax.grad(lambda params: learner.loss(params, state.targets, batch, key)[0])(state.params)
        return gradient, len(asked)

    shared, few = found()
    monkeypatch.setattr("mvl.learn.learner.Regresses", type("Nobody", (), {}))
    apart, more = found()
    assert few == more - 1
    pairs = zip(jax.tree.leaves(shared), jax.tree.leaves(apart), strict=True)
    assert all(np.allclose(one, other, rtol=1e-4, atol=1e-6) for one, other in pairs)
