"""Every registered part in a recipe: one jitted step, finite and reproducible; every field explained."""

from dataclasses import fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tyro
from pictures import eye, pictured

from conftest import discrete, small_recipe, walk
from contracts.cube import LEGAL, covering, pairs, refusal
from mvl import registry
from mvl.data.dataset import Dataset
from mvl.data.goals import on_device
from mvl.errors import UsageError
from mvl.learn.learner import Learner
from mvl.recipes.families import RECIPES
from mvl.recipes.recipe import Learning, Recipe, make_part
from mvl.runs.data import shapes_of, statistics_of
from mvl.types import Shapes, offered

COVER = covering(LEGAL)
REST = [name for name in LEGAL if name not in COVER]


def one_step(name: str, dimensions: int, oracle: bool = False, levels: tuple[int, ...] = (), fusion: str = "", **learning: int):
    """One jitted step twice over; everything finite, bit for bit the same, and an action in range."""
    data = discrete(walk(dimensions=dimensions), levels) if levels else walk(dimensions=dimensions)
    if fusion:
        data = pictured(bool(levels))
    if oracle:  # goals are told by fewer numbers than states
        data = Dataset(data.observations, data.actions, data.ends, oracle=data.observations[:, :1] * 2)
    encoder = {"encoder": eye(fusion)} if fusion else {}
    recipe = small_recipe(name, learning=Learning(batch_size=16, **learning), **encoder)
    history = recipe.learning.history
    recipe = recipe.fit(statistics_of(data, None, history))
    learner = Learner(recipe, shapes_of(data, recipe.learning))
    rows = on_device(data, history=history)

    @jax.jit  # all in one: compiling is what takes time here
    def begin_step_and_act(seed):
        state = learner.init(seed)
        after, metrics = learner.update(state, learner.sample(rows, learner.keys(state.seed, state.step)[0]))
        return after, metrics, learner.act(after.params, data.observations[0], rows.goals[5], jax.random.key(0), jnp.ones(()))

    first, again = begin_step_and_act(jnp.asarray(0)), begin_step_and_act(jnp.asarray(0))
    after, metrics, action = first
    assert all(np.isfinite(np.asarray(value)).all() for value in jax.tree.leaves((after.params, metrics)))
    assert all((np.asarray(a) == np.asarray(b)).all() for a, b in zip(*map(jax.tree.leaves, (first, again)), strict=True))
    assert action.shape == (len(levels) or dimensions,)
    for number, count in zip(action.tolist(), levels or dimensions * [0], strict=True):
        assert number in range(count) if count else abs(number) <= 1


@pytest.mark.parametrize(("name", "dimensions"), [*[(name, 4) for name in COVER], ("gcivl-mvl", 1), ("dual-mvl", 1)])
def test_a_step_is_finite_and_reproducible(name, dimensions):
    one_step(name, dimensions)


@pytest.mark.parametrize("name", ["gcivl", "hiql-mvl", "qrl-eik", "trl-mvl", "tdp", "coe", "crl", "fbc", "vip", "byol", "dual"])
def test_oracle_goals_are_taken(name):
    """One of each kind that makes something of them: told as they are, distilled, embedded like a state, seen from a state."""
    one_step(name, 3, oracle=True)


@pytest.mark.parametrize(
    ("name", "levels"), [("dual", (5,)), ("hiql", (0, 2, 3)), ("gciql-mvl", (2, 0)), ("trl", (3, 2)), ("coe", (4,))]
)
def test_discrete_actions_are_taken(name, levels):
    """One of each use: imitated, by a low policy, the critic's gradient, at a midpoint, and chosen within the value's loss."""
    one_step(name, 2, levels=levels)


@pytest.mark.parametrize(("name", "levels"), [("gcivl-mvl", (0, 2)), ("hiql", ()), ("bc", (3,)), ("fbc", ())])
def test_chunks_of_actions_are_learned(name, levels):
    one_step(name, 2, levels=levels, chunk=3)


@pytest.mark.parametrize("name", ["gcivl-slope", "qrl-eik", "coe"])
def test_states_may_have_a_history(name):
    one_step(name, 2, history=3)


@pytest.mark.parametrize(
    ("name", "fusion", "levels"),
    [
        *[("gcivl-mvl", "early", levels) for levels in ((3,), ())],
        *[("bc", "early", (3,)), ("fbc", "early", ()), ("gcivl-slope", "late", (3,)), ("dual-eik", "late", ())],
        *[("hiql", "late", (3,)), ("gciql-mvl", "late", ()), ("crl", "late", (3,)), ("qrl", "late", (3,)), ("trl", "late", ())],
    ],
)
def test_images_are_learned_from_with_discrete_and_continuous_actions(name, fusion, levels):
    """Each family where it can go, every regularizer, both ways to own an encoder."""
    one_step(name, 2, levels=levels, fusion=fusion)


def test_images_may_have_histories_and_policies_of_images_chunks():
    one_step("gcivl", 2, fusion="early", history=2, chunk=2)


def test_a_policy_of_single_actions_is_refused_with_those_that_answer_chunks():
    chunks = Learning(batch_size=16, chunk=4)
    for value in ("gciql", "qrl"):
        policy = make_part("policy", "advantage_weighted", widths=(8,))
        assert small_recipe(value, policy=policy, learning=chunks)
        with pytest.raises(UsageError, match="gradient chooses one action at a time; for chunks choose from advantage_weighted,"):
            small_recipe(value, learning=chunks)
    with pytest.raises(UsageError, match="for chunks choose from clone, flow, or leave out --chunk"):
        small_recipe("trl", learning=chunks)


def test_a_policy_without_discrete_actions_is_refused_with_those_that_have_them():
    small_recipe("fbc").check_actions(())
    with pytest.raises(UsageError, match="flow has continuous actions only, but action dimension 1 .* policies that fit: clone"):
        small_recipe("fbc").check_actions((0, 2))
    flow = small_recipe("gciql", policy=make_part("policy", "flow"))
    with pytest.raises(UsageError, match="policies that fit: advantage_weighted, clone, gradient, greedy, hierarchical"):
        flow.check_actions((2,))


@pytest.mark.cube
@pytest.mark.parametrize("name", REST)
def test_a_step_of_every_other_composition(name):
    one_step(name, 4)


def test_the_selection_covers_every_pair_of_parts():
    assert set().union(*map(pairs, COVER)) == set().union(*map(pairs, LEGAL))
    assert len(LEGAL) == 230
    assert len(COVER) < len(LEGAL) / 2


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in LEGAL])
def test_what_cannot_work_is_refused_with_the_reason_and_what_does(name):
    """Imitation has nothing to regularize or to shape a goal; a contrast of all with all needs one view of each goal."""
    family, parts = RECIPES[name]
    reason = refusal(name)
    if family == "crl":
        assert parts.representation == "subgoal"
        assert "evaluates every state with every goal" in reason
        assert "dual" in reason
    else:
        assert family in ("bc", "fbc")
        assert parts.regularizer != "none" or parts.representation in ("vib", "subgoal")
        assert "which absent has not; values that do: compositional, contrastive" in reason


@pytest.mark.parametrize("value", registry.names("value"))
@pytest.mark.parametrize("policy", registry.names("policy"))
def test_a_policy_takes_every_value_that_offers_what_it_needs(value, policy):
    made = make_part("value", value), make_part("policy", policy)
    fits = made[1].needs <= offered(made[0])
    build = lambda: Recipe(make_part("representation", "identity"), make_part("regularizer", "none"), *made)
    if fits:
        assert build()
        return
    with pytest.raises(UsageError, match=f"policy {policy} needs a value with .* which {value} has not; values that do: "):
        build()


@pytest.mark.parametrize("name", COVER)
def test_recipes_survive_json(name):
    import json

    recipe = small_recipe(name).fit(walk().statistics)
    assert Recipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe


def test_fitted_tuples_survive_json():
    recipe = small_recipe("gcivl-mvl", regularizer=make_part("regularizer", "mollified", scale="std", cost="auto"))
    fitted = recipe.fit(walk().statistics)
    assert Recipe.from_json(fitted.to_json()) == fitted
    assert isinstance(fitted.regularizer.scale, tuple)


ALL = [(axis, name) for axis in registry.AXES for name in registry.names(axis)]


@pytest.mark.parametrize(("axis", "name"), ALL)
def test_every_part_is_frozen_documented_and_found_by_its_name(axis, name):
    part = make_part(axis, name)
    assert registry.name_of(axis, part) == name
    assert type(part).__doc__.strip()
    assert type(part).__dataclass_params__.frozen
    if fields(part):
        with pytest.raises(AttributeError):
            setattr(part, fields(part)[0].name, 1)


@pytest.mark.parametrize(("axis", "name"), [pair for pair in ALL if fields(make_part(*pair))])
def test_every_field_has_a_help_text(axis, name, capsys):
    part = make_part(axis, name)
    with pytest.raises(SystemExit):
        tyro.cli(type(part), default=part, args=["--help"])
    text = capsys.readouterr().out
    source = __import__("inspect").getsource(type(part))
    for field in fields(part):
        assert f"--{field.name.replace('_', '-')}" in text
        declared = source.index(f"    {field.name}: ")
        assert source[declared:].splitlines()[1].strip().startswith('"""'), f"{name}.{field.name} has no docstring"


def test_policies_and_values_are_of_any_width():
    recipe = small_recipe()
    wide = replace(recipe, value=replace(recipe.value, widths=(8,)), policy=replace(recipe.policy, widths=(4, 4, 4)))
    state = Learner(wide, Shapes(2, 2, 2)).init(jnp.asarray(0))
    assert state.params.value.hidden[0].kernel.shape == (2, 4, 8)
    assert len(state.params.policy.hidden) == 3
