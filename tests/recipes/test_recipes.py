from dataclasses import dataclass, replace

import jax
import pytest

from mvl import registry
from mvl.errors import UsageError
from mvl.policies.advantage_weighted import AdvantageWeighted
from mvl.recipes.presets import DEFAULT, PRESETS, Schedule, named_recipe
from mvl.recipes.recipe import Recipe, make_part
from mvl.regularizers.mollified import Mollified
from mvl.regularizers.none import Unregularized
from mvl.representations.identity import Identity
from mvl.tasks import Task, find_task
from mvl.types import Shapes, offered
from mvl.values.absent import Absent
from mvl.values.implicit_v import ImplicitV


def test_the_paper_preset_has_the_paper_s_numbers():
    recipe, schedule = named_recipe("gcivl-mvl", "paper", find_task("pointmaze-medium-navigate-v0"))
    assert recipe.value == ImplicitV(expectile=0.9, widths=(512, 512, 512))
    assert recipe.policy == AdvantageWeighted(alpha=10.0, widths=(512, 512, 512))
    assert recipe.regularizer == Mollified(weight=1.0, samples=10, viscosity=0.01, cost=1.0, form="algorithm", fraction=1.0)
    learning = recipe.learning
    assert (learning.batch_size, learning.learning_rate, learning.discount, learning.target_rate) == (1024, 3e-4, 0.99, 0.005)
    assert (schedule.steps, schedule.eval_every, schedule.eval_episodes) == (1_000_000, 100_000, 50)


@pytest.mark.parametrize(
    ("task", "discount", "actor"),
    [
        ("pointmaze-large-navigate-v0", 0.99, (0.0, 1.0, 0.0)),
        ("pointmaze-giant-stitch-v0", 0.995, (0.0, 0.5, 0.5)),
        ("humanoidmaze-medium-navigate-v0", 0.995, (0.0, 1.0, 0.0)),
        ("antmaze-medium-explore-v0", 0.99, (0.0, 0.0, 1.0)),
        ("cube-single-play-v0", 0.99, (0.0, 1.0, 0.0)),
        ("kitchen-partial-v2", 0.99, (0.0, 1.0, 0.0)),
    ],
)
def test_settings_per_task(task, discount, actor):
    recipe, _ = named_recipe("gcivl", "paper", find_task(task))
    learning = recipe.learning
    stream = learning.actor_goals
    assert learning.discount == discount
    assert (stream.current, stream.trajectory, stream.random, stream.geometric) == (*actor, False)
    goals = recipe.value_goals
    assert (goals.current, goals.trajectory, goals.random, goals.geometric) == (0.2, 0.5, 0.3, True)


def test_single_axes_can_be_swapped_by_name():
    recipe, _ = named_recipe("gcivl", "cpu", parts={"regularizer": "eikonal"})
    assert recipe == named_recipe("gcivl-eik", "cpu")[0]
    assert recipe.value.widths == PRESETS["cpu"].widths


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: named_recipe("gcivl-mvp", "cpu"), "no recipe named 'gcivl-mvp'; did you mean gcivl-mvl"),
        (lambda: named_recipe("gcivl", "cup"), "no preset named 'cup'; did you mean cpu"),
        (lambda: named_recipe("gcivl", "cpu", parts={"regularizer": "molified"}), "did you mean mollified"),
        (
            lambda: make_part("regularizer", "mollified", wieght=1),
            "no setting of regularizer mollified named 'wieght'; did you mean weight",
        ),
        (lambda: Schedule(steps=0), "positive multiple"),
        (lambda: Schedule(eval_every=150), "eval_every must be a positive multiple of 100"),
    ],
)
def test_unknown_names_are_answered_with_the_closest(call, message):
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert caught.value.exit_code == 2


@dataclass(frozen=True)
class Valueless(Absent):
    """A value that offers nothing."""


def test_parts_that_do_not_fit_are_refused_with_those_that_do(monkeypatch):
    """Checked when the recipe is built; the message names the values that would work."""
    from mvl import registry

    known = registry.names
    monkeypatch.setattr(registry, "names", lambda axis: [*known(axis), "valueless"] if axis == "value" else known(axis))
    real = registry.part_class
    monkeypatch.setattr(registry, "part_class", lambda axis, name: Valueless if name == "valueless" else real(axis, name))
    with pytest.raises(
        UsageError, match="policy advantage_weighted needs a value with advantage, which valueless has not; .*implicit_v"
    ):
        Recipe(Identity(), Unregularized(), Valueless(), AdvantageWeighted())
    monkeypatch.setattr(Valueless, "advantage", lambda *_: None, raising=False)
    with pytest.raises(
        UsageError, match="regularizer mollified needs a value with a surface, which valueless has not; .*implicit_q"
    ):
        Recipe(Identity(), Mollified(), Valueless(), AdvantageWeighted())
    assert Recipe(Identity(), Unregularized(), Valueless(), AdvantageWeighted())


def test_plug_ins_are_found(monkeypatch):
    from mvl import registry

    @dataclass(frozen=True)
    class Extra:
        """Asks for nothing, from outside."""

        weight: float = 1.0

    class EntryPoint:
        name = "extra"

        def load(self):
            return Extra

    monkeypatch.setattr(registry, "_plugins", lambda axis: [EntryPoint()] if axis == "regularizer" else [])
    registry._registered.cache_clear()
    assert "extra" in registry.names("regularizer")
    part = make_part("regularizer", "extra", weight=2.0)
    assert registry.name_of("regularizer", part) == "extra"
    assert named_recipe("gcivl", "cpu", parts={"regularizer": "extra"})[0].regularizer == Extra()
    registry._registered.cache_clear()


def test_installed_packages_are_searched_for_plug_ins_once(monkeypatch):
    from mvl import registry

    searched = []
    monkeypatch.setattr(registry, "entry_points", lambda group: searched.append(group) or ())
    registry._plugins.cache_clear()
    for _ in range(3):
        assert "mollified" in registry.names("regularizer")
        assert make_part("regularizer", "mollified")
    assert searched == ["mvl.regularizer"]
    registry._plugins.cache_clear()


@pytest.mark.parametrize(
    ("task", "recipe", "settings"),
    [
        ("pointmaze-large-navigate-v0", "gciql", {"alpha": 0.003}),
        ("pointmaze-large-navigate-v0", "crl", {"alpha": 0.03}),
        ("pointmaze-giant-stitch-v0", "qrl", {"alpha": 0.0003}),
        ("pointmaze-medium-navigate-v0", "trl", {"alpha": 10.0, "norm": True}),
        ("antmaze-large-navigate-v0", "gciql", {"alpha": 0.3}),
        ("antmaze-large-navigate-v0", "trl", {"alpha": 0.7, "norm": True}),
        ("antmaze-medium-explore-v0", "crl", {"alpha": 0.003}),
        ("antmaze-medium-explore-v0", "hiql", {"low_alpha": 10.0, "high_alpha": 10.0, "subgoal_steps": 25}),
        ("humanoidmaze-medium-navigate-v0", "hiql", {"low_alpha": 3.0, "high_alpha": 3.0, "subgoal_steps": 100}),
        ("humanoidmaze-medium-navigate-v0", "qrl", {"alpha": 0.001}),
        ("antsoccer-arena-navigate-v0", "crl", {"alpha": 0.3}),
        ("cube-single-play-v0", "crl", {"alpha": 3.0, "norm": False}),
        ("cube-single-noisy-v0", "gciql", {"alpha": 0.03}),
        ("cube-double-play-v0", "trl", {"alpha": 10.0}),
        ("scene-play-v0", "hiql", {"subgoal_steps": 10}),
        ("puzzle-4x4-play-v0", "qrl", {"alpha": 0.3}),
        ("puzzle-3x3-play-oraclerep-v0", "tdp", {"alpha": 2.0}),
        ("scene-play-v0", "gcivl", {"alpha": 10.0}),
        ("kitchen-partial-v2", "gcivl", {"alpha": 10.0}),
        ("kitchen-mixed-v2", "crl", {"alpha": 3.0}),
        ("kitchen-complete-v2", "hiql", {"subgoal_steps": 10}),
    ],
)
def test_published_settings_come_with_the_task(task, recipe, settings):
    """OGBench's and TRL's tables; nobody has to know them."""
    policy = named_recipe(recipe, "paper", find_task(task))[0].policy
    assert {name: getattr(policy, name) for name in settings} == settings


def test_published_settings_of_values():
    hiql, _ = named_recipe("hiql", "paper", find_task("cube-single-play-v0"))
    assert (hiql.value.expectile, hiql.representation.size) == (0.7, 10)
    powers = [
        named_recipe("trl", "paper", find_task(task))[0].value.distance_power
        for task in ("humanoidmaze-medium-navigate-v0", "humanoidmaze-large-navigate-v0", "puzzle-4x4-play-v0")
    ]
    assert powers == [0.0, 0.1, 2.0]


def test_a_kitchen_has_the_paper_s_sizes_of_manipulation():
    vib, dual = (named_recipe(name, "paper", find_task("kitchen-partial-v2"))[0].representation for name in ("vib", "dual"))
    assert (vib.size, vib.beta) == (256, 0.001)
    assert (dual.size, dual.expectile) == (256, 0.7)


def test_imitation_never_aims_at_goals_that_were_not_reached():
    """Whatever the data: on stitch, who has a value draws half of the goals anywhere, who has none does not."""
    stitch = find_task("pointmaze-medium-stitch-v0")
    for name in ("bc", "fbc"):
        assert named_recipe(name, "paper", stitch)[0].learning.actor_goals.trajectory == 1.0
    assert named_recipe("crl", "paper", stitch)[0].learning.actor_goals.random == 0.5


@pytest.mark.parametrize(
    ("other", "name"),
    [("orig-mvl", "gcivl-mvl"), ("gcivl-dual-eik", "dual-eik"), ("gcbc", "bc"), ("hiql-subgoal-mvl", "hiql-mvl")],
)
def test_other_names(other, name):
    from mvl.recipes.families import canonical

    assert canonical(other) == name


def test_values_choose_their_goals_unless_told_otherwise():
    from dataclasses import replace

    from mvl.batches import GoalMix

    recipe, _ = named_recipe("crl", "cpu")
    assert recipe.value_goals == GoalMix(0.0, 1.0, 0.0)
    own = GoalMix(0.0, 0.5, 0.5)
    assert replace(recipe, learning=replace(recipe.learning, value_goals=own)).value_goals == own
    assert named_recipe("qrl", "cpu")[0].value_goals.random == 1.0
    with pytest.raises(UsageError, match="value transitive needs goals ahead in the same episode"):
        replace(named_recipe("trl", "cpu")[0], learning=replace(recipe.learning, value_goals=own))


def test_the_default_preset_plans_on_mazes_where_the_value_counts_steps():
    maze, arm = find_task("pointmaze-large-navigate-v0"), find_task("cube-single-play-v0")
    pairs = [(name, task) for name in ("gcivl", "bc", "crl") for task in (maze, arm)]
    plans = {(name, str(task)): named_recipe(name, DEFAULT, task)[1].plan for name, task in pairs}
    assert {key for key, plan in plans.items() if plan == "graph"} == {("gcivl", str(maze))}
    assert named_recipe("gcivl", "cpu", maze)[1].plan == "none"


@pytest.mark.parametrize("name", ["crl-mvl", "gciql-mvl", "qrl-mvl"])
def test_neighbors_by_the_target_network_need_a_value_that_has_one(name):
    recipe, _ = named_recipe(name, "cpu")
    with pytest.raises(
        UsageError, match="needs a target network of the surface, which value .* has not; values that do: discrete_q, implicit_v"
    ):
        replace(recipe, regularizer=Mollified(through="target"))


def test_the_surface_of_dual_has_no_target_network():
    recipe, _ = named_recipe("dual-mvl", "cpu")
    made = replace(recipe, regularizer=Mollified(through="target"))
    with pytest.raises(UsageError, match="which representation dual has not; choose regularized=downstream"):
        replace(made, representation=replace(made.representation, regularized="both"))


@pytest.mark.parametrize("name", registry.names("value"))
def test_values_say_whether_all_their_parameters_have_a_target_network(name):
    part = make_part("value", name)
    levels = (3,) if getattr(part, "compares_actions", False) else ()
    params = jax.eval_shape(lambda: part.init(jax.random.key(0), Shapes(4, 2, 4, 4, levels=levels)))
    same = jax.tree.structure(jax.eval_shape(part.targets, params)) == jax.tree.structure(params)
    assert getattr(part, "target_surface", False) == (same and bool(offered(part)))


def test_data_of_ones_own_has_regularizers_of_its_own(monkeypatch):
    mine = {"mollified": {"weight": 3.0, "cost": "auto"}, "slope": {"weight": 0.2}}
    monkeypatch.setitem(PRESETS, "cpu", replace(PRESETS["cpu"], own_data=mine))
    own, published = (
        {suffix: named_recipe(f"gcivl-{suffix}", "cpu", task)[0].regularizer for suffix in ("mvl", "slope")}
        for task in (Task(data="mine.npz"), find_task("pointmaze-medium-navigate"))
    )
    assert (own["mvl"].weight, own["mvl"].cost, own["slope"].weight) == (3.0, "auto", 0.2)
    assert own["mvl"].samples == published["mvl"].samples == 4  # the rest is the preset's
    assert (published["mvl"].weight, published["mvl"].cost, published["slope"].weight) == (10.0, 1.0, 1.0)
