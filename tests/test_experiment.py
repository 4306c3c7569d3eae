"""One description of a training: from presets, by settings, as flags, as JSON, and back."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import mvl
from conftest import walk
from mvl.batches import GoalMix
from mvl.cli import train as command_line
from mvl.errors import UsageError
from mvl.experiment import DataOptions, Experiment
from mvl.recipes.families import name_of_parts
from mvl.recipes.recipe import Learning
from mvl.settings import as_flags, with_explicit_goals

TASK = "antmaze-large-navigate-v0"


def changed(recipe="gcivl-mvl", **settings):
    texts = {name.replace("__", "."): text for name, text in settings.items()}
    return Experiment.from_preset(Path("walk.npz"), recipe).with_settings(texts)


def understood(words: str) -> Experiment:
    """What `mvl train` makes of a command."""
    task, *rest = shlex.split(words)[2:]
    options, settings = command_line.parser().parse_known_args(rest)
    return command_line._experiment(options, task, settings)


def same(one: Experiment, other: Experiment) -> bool:
    """Equal, whether or not the value's goal mix is written out."""
    plain = lambda experiment: replace(experiment, recipe=with_explicit_goals(experiment.recipe), recipe_name="", preset=None)
    return plain(one) == plain(other)


def test_settings_change_the_recipe_and_the_schedule():
    made = changed(regularizer__samples="3", steps="200", value__widths="8 8", regularizer__antithetic="True")
    assert made.recipe.regularizer.samples == 3
    assert made.recipe.value.widths == (8, 8)
    assert made.schedule.steps == 200
    assert made.changes() == {"regularizer.samples": "3", "steps": "200", "value.widths": "8 8"}  # the last is the default


def test_texts_and_values_change_the_same_settings():
    texts = changed(steps="200", discount="0.9", value_goals__random="0.5", value_goals__trajectory="0.3", policy__widths="8 8")
    values = Experiment.from_preset("walk.npz").with_settings(
        {"steps": 200, "discount": 0.9, "value_goals.random": 0.5, "value_goals.trajectory": 0.3, "policy.widths": (8, 8)}
    )
    assert same(replace(texts, task=values.task), values)
    learning = Learning(batch_size=7, normalize=False)
    whole = values.with_settings({"regularizer": mvl.Eikonal(weight=2.0), "learning": learning})
    assert (whole.recipe.regularizer, whole.recipe.learning) == (mvl.Eikonal(weight=2.0), learning)


def test_own_data_is_normalized_and_published_tasks_are_not():
    own, published = (Experiment.from_preset(task) for task in ("walk.npz", TASK))
    assert (own.recipe.learning.normalize, published.recipe.learning.normalize) == (True, False)
    assert own.with_settings({"learning": Learning()}).recipe.learning.normalize
    for experiment, changed_to, flag in ((own, False, "--no-normalize"), (published, True, "--normalize")):
        other = experiment.with_settings({"normalize": changed_to})
        assert flag in other.to_flags()
        assert same(understood(other.command()), other)
    assert Experiment.from_json(own.to_json()) == own
    earlier = own.to_json()
    del earlier["recipe"]["learning"]["normalize"]
    assert Experiment.from_json(earlier).recipe.learning.normalize is False


def test_chunks_and_histories_are_settings_that_not_every_recipe_takes():
    made = changed(chunk="8", history="2", execute="blended")
    assert made.changes() == {"chunk": "8", "history": "2", "execute": "blended"}
    assert same(understood(made.command()), replace(made, task=understood(made.command()).task))
    with pytest.raises(UsageError, match="policy gradient chooses one action at a time"):
        changed("gciql", chunk="8")
    with pytest.raises(UsageError, match=r"Learning.history must be a whole number of at least 1"):
        changed(history="0")


def test_another_value_brings_its_own_goals():
    from mvl.values.contrastive import Contrastive

    made = Experiment.from_preset("walk.npz", "gciql").with_settings({"value": Contrastive(latent=8)})
    assert made.recipe.value_goals == Contrastive.goal_mix


def test_a_part_may_stand_for_its_axis_where_it_is_used():
    assert changed(mollified__weight="3").changes() == {"regularizer.weight": "3.0"}
    assert changed().has_setting("mollified.weight")
    assert not changed().has_setting("eikonal.weight")
    assert not changed("gcivl").has_setting("regularizer.weight")
    with pytest.raises(UsageError, match=r"no setting named 'regularizer.weigth'; did you mean regularizer.weight"):
        changed(regularizer__weigth="3")


def test_flags_are_those_of_the_command():
    known = changed().configured.settings()
    changes = {"regularizer.antithetic": "True", "batch_size": "16", "value.widths": "8 8"}
    assert as_flags(known, changes) == ["--regularizer.antithetic", "--batch-size", "16", "--value.widths", "8", "8"]
    assert as_flags(known, {"regularizer.antithetic": "False"}) == ["--regularizer.no-antithetic"]


def test_a_value_of_another_type_is_one_sentence(capfd):
    with pytest.raises(UsageError, match="steps=many has the wrong type"):
        changed(steps="many")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("preset", ["cpu", "laptop", "paper"])
@pytest.mark.parametrize("name", ["gcivl", "dual-mvl", "hiql-eik", "trl", "bc"])
def test_a_named_recipe_needs_its_name_alone(name, preset):
    made = replace(Experiment.from_preset(TASK, name, preset), preset=None, recipe_name="any")
    assert made.command() == f"mvl train {TASK} --recipe {name} --preset {preset} --seeds 1"


def test_changes_are_flags():
    base = Experiment.from_preset(TASK, "trl-mvl", seeds=(3, 4))
    recipe = replace(
        base.recipe,
        regularizer=replace(base.recipe.regularizer, weight=2.5, cost="auto", antithetic=not base.recipe.regularizer.antithetic),
        policy=replace(base.recipe.policy, norm=not base.recipe.policy.norm, widths=(8, 9)),
        learning=replace(base.recipe.learning, discount=0.9, actor_goals=GoalMix(0.0, 0.5, 0.5, geometric=False)),
    )
    made = replace(base, recipe=recipe, schedule=replace(base.schedule, steps=700))
    words = made.command()
    assert "--seeds 2 --first-seed 3" in words
    assert same(understood(words), made)


def test_parts_without_a_name_are_named_one_by_one():
    named = Experiment.from_preset(TASK, "gcivl", parts={"policy": "hierarchical", "representation": "dual"})
    assert name_of_parts(named.recipe.names()) == "hiql-dual"
    odd = Experiment.from_preset(TASK, "gciql", parts={"policy": "advantage_weighted"})
    assert name_of_parts(odd.recipe.names()) is None
    assert same(understood(odd.command()), odd)


def test_own_data_is_named_by_its_file_alone():
    made = Experiment.from_preset(Path("/somewhere/my demos.npz"), "gcivl", data=DataOptions(held_out=0.2))
    assert made.command() == "mvl train 'my demos.npz' --recipe gcivl --preset laptop --seeds 1 --held-out 0.2"


def test_json_and_back():
    options = DataOptions(Path("data"), 0.2, False)
    for task in (TASK, Path("walk.npz")):
        made = Experiment.from_preset(task, "dual-mvl", seeds=(1, 2), data=options).with_settings({"steps": 500})
        assert Experiment.from_json(made.to_json()) == made
    own = Experiment.from_preset(
        mvl.Task(env="my_package:make_env", data=Path("walk.npz"), success="my_package:near", name="mine")
    )
    assert Experiment.from_json(own.to_json()) == own
    assert own.command() == "mvl train walk.npz --recipe gcivl-mvl --preset laptop --env my_package:make_env --seeds 1"
    arrays = Experiment.from_preset(walk())
    assert Experiment.from_json(arrays.to_json()).recipe == arrays.recipe


@pytest.mark.parametrize("seeds", [(), (-1,), (2**32,)])
def test_seeds_are_checked(seeds):
    with pytest.raises(UsageError, match="seed"):
        Experiment.from_preset("walk.npz", seeds=seeds)
