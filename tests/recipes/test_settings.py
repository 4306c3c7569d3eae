"""Settings by name and text, as sweeps change them."""

import pytest

from mvl.errors import UsageError
from mvl.recipes.settings import choose, defaults, flags, has


def chosen(recipe="gcivl-mvl", **wanted):
    return choose(recipe, "cpu", None, {name.replace("__", "."): text for name, text in wanted.items()})


def test_settings_change_the_recipe_and_the_schedule():
    made = chosen(regularizer__samples="3", steps="200", value__widths="8 8", regularizer__antithetic="True")
    assert made.recipe.regularizer.samples == 3
    assert made.recipe.value.widths == (8, 8)
    assert made.schedule.steps == 200
    assert dict(made.changes) == {"regularizer.samples": "3", "steps": "200", "value.widths": "8 8"}  # the last is the default


def test_a_part_may_stand_for_its_axis_where_it_is_used():
    assert dict(chosen(mollified__weight="3").changes) == {"regularizer.weight": "3.0"}
    assert chosen(eikonal__weight="3").changes == ()
    assert chosen("gcivl", regularizer__weight="3").changes == ()
    assert has("gcivl-mvl", "cpu", None, "mollified.weight")
    assert not has("gcivl", "cpu", None, "regularizer.weight")
    assert not has("gcivl", "cpu", None, "regularizer")


def test_flags_are_those_of_the_command():
    base = defaults("gcivl-mvl", "cpu", None)()
    changes = {"regularizer.antithetic": "True", "batch_size": "16", "value.widths": "8 8"}
    assert flags(base, changes) == ["--regularizer.antithetic", "--batch-size", "16", "--value.widths", "8", "8"]
    assert flags(base, {"regularizer.antithetic": "False"}) == ["--regularizer.no-antithetic"]


def test_a_value_of_another_kind_is_one_sentence(capfd):
    with pytest.raises(UsageError, match="steps=many is not of the setting's kind"):
        chosen(steps="many")
    assert capfd.readouterr() == ("", "")
