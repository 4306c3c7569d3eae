"""Every registered part in a recipe: one jitted step, finite and reproducible; every field explained."""

from dataclasses import fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tyro

from conftest import small_recipe, walk
from mvl import registry
from mvl.data.goals import on_device
from mvl.learn.learner import Learner
from mvl.recipes.families import RECIPES
from mvl.recipes.recipe import Recipe, make_part
from mvl.types import Shapes


@pytest.mark.parametrize(("name", "dimensions"), [*[(name, 4) for name in RECIPES], ("gcivl-mvl", 1), ("dual-mvl", 1)])
def test_a_step_is_finite_and_reproducible(name, dimensions):
    data = walk(dimensions=dimensions)
    learner = Learner(small_recipe(name).fit(data.statistics), Shapes(dimensions, dimensions, dimensions))
    state = jax.jit(learner.init)(jnp.asarray(0))
    step = jax.jit(learner.step)
    (after, metrics), (again, _) = step(state, on_device(data)), step(state, on_device(data))
    assert all(np.isfinite(np.asarray(value)).all() for value in jax.tree.leaves((after.params, metrics)))
    assert all((np.asarray(a) == np.asarray(b)).all() for a, b in zip(*map(jax.tree.leaves, (after, again)), strict=True))


@pytest.mark.parametrize("name", RECIPES)
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
