"""Numbers out of range, on every command: one sentence, before anything is loaded or written."""

import argparse
import contextlib
import importlib
from dataclasses import fields, replace

import pytest

from mvl import registry
from mvl.batches import GoalMix
from mvl.cli import main
from mvl.errors import UsageError
from mvl.recipes.presets import Schedule
from mvl.recipes.recipe import Learning

TASK = "pointmaze-medium-navigate-v0"
COUNTS, SEEDS = ("0", "-1", "1.5", "nan", "two"), ("-1", "1.5", "nan", str(2**32))
SHARES, AMOUNTS = ("0", "1", "-0.1", "nan", "inf"), ("-0.1", "nan", "inf", "-inf", "")
SWEEP = {"seeds": COUNTS, "held-out": SHARES, "episodes": COUNTS, "at-once": COUNTS, "gpus-per-run": AMOUNTS, "goals": COUNTS}
OPTIONS = {
    ("train", TASK): {
        **dict.fromkeys(("seeds", "workers", "devices", "processes", "goals"), COUNTS),
        **{"first-seed": SEEDS, "held-out": SHARES, "process-id": ("-1", "nan")},
    },
    ("train", "--resume", "run"): {"steps": COUNTS, "workers": COUNTS},
    ("eval", "run"): {"episodes": COUNTS, "temperature": AMOUNTS, "seed": SEEDS, "workers": COUNTS, "goals": COUNTS},
    ("view", "run"): {"episodes": COUNTS, "seed": SEEDS, "port": ("-1", "65536", "nan")},
    ("video", "run"): {"tasks": COUNTS, "episodes": COUNTS, "seed": SEEDS, "size": COUNTS},
    ("plot", "field", "run"): {"task": COUNTS, "episodes": COUNTS},
    ("plot", "fan", "run"): {"task": COUNTS, "waypoints": COUNTS, "temperature": ("0", "-1", "nan", "inf")},
    ("plot", "compare", "run"): {"task": COUNTS, "rows": COUNTS},
    ("toy",): {"seed": SEEDS, "steps": (*COUNTS, "15")},
    ("toy", "lights"): {"seeds": COUNTS, "steps": (*COUNTS, "150")},
    ("data", "generate", TASK): {"seed": SEEDS, "episodes": COUNTS, "workers": COUNTS},
    ("data", "expert", "ant", "--to", "walker"): {"steps": COUNTS, "seed": SEEDS},
    ("data", "import", "demos", "--to", "demos.npz"): {"held-out": SHARES, "every": COUNTS, "hz": ("0", "-1", "nan", "inf")},
    ("sweep", "--preset", "cpu", "--tasks", TASK, "--recipes", "gcivl"): SWEEP,
    ("reproduce", "table1"): SWEEP,
    ("tune", TASK, "--preset", "cpu", "--knob", "regularizer.weight=1,2"): SWEEP,
}
SETTINGS = {
    "batch-size": "0", "learning-rate": "nan", "discount": "1", "target-rate": "2", "steps": "0", "steps-per-dispatch": "0",
    "eval-episodes": "0", "eval-temperature": "-1", "actor-goals.random": "nan", "value.widths": "0", "value.expectile": "1.5",
    "policy.alpha": "-1", "representation.size": "0", "regularizer.weight": "inf", "regularizer.cost": "nan",
}  # fmt: skip


WORK = (
    "mvl.runs.training.train_experiment", "mvl.runs.training.resume", "mvl.runs.restore.restore", "mvl.toy.figure.all_fields",
    "mvl.toy.lights.learning.all_learned", "mvl.data.generation.generate", "mvl.tasks.walker.training.train_ant",
    "mvl.data.imports.importing.import_data", "mvl.studies.execution.carry_out",
)  # fmt: skip


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Give a command a bad number; work that begins nevertheless fails the test."""
    monkeypatch.chdir(tmp_path)
    for work in WORK:  # all modules first: one that is imported later would keep what stands in for another's function
        importlib.import_module(work.rpartition(".")[0])
    for work in WORK:
        monkeypatch.setattr(work, lambda *args, **settings: pytest.fail("it began"))

    def check(*words: str) -> str:
        assert main(list(words)) == 2, words
        err = capsys.readouterr().err
        assert err.startswith("mvl: ")
        assert len(err.splitlines()) == 1
        assert "must be a" in err
        assert list(tmp_path.iterdir()) == []
        return err

    return check


@pytest.mark.parametrize("words", OPTIONS, ids=lambda words: " ".join(words[:2]))
def test_options_of_commands(refused, words):
    for option, values in OPTIONS[words].items():
        for value in values:
            assert f"argument --{option}: must be" in refused(*words, f"--{option}={value}")


@pytest.mark.parametrize("words", [words for words in OPTIONS if "--resume" not in words], ids=lambda words: " ".join(words[:2]))
def test_no_option_is_left_out(monkeypatch, words):
    """Every number that a command takes has a range, and is tried above."""
    taken, add = {}, argparse._ActionsContainer.add_argument

    def noted(self, *names, **settings):
        taken[names[0].lstrip("-")] = settings.get("type")
        return add(self, *names, **settings)

    monkeypatch.setattr(argparse._ActionsContainer, "add_argument", noted)
    with contextlib.suppress(SystemExit):
        main([*words, "--help"])
    assert not {name for name, kind in taken.items() if kind in (int, float)}
    assert {name for name, kind in taken.items() if "within" in getattr(kind, "__qualname__", "")} == set(OPTIONS[words])


@pytest.mark.parametrize(("name", "value"), SETTINGS.items())
def test_settings_of_training(refused, name, value):
    field = name.split(".")[-1].replace("-", "_")
    words = "train", TASK, "--recipe", "dual-mvl", f"--{name}", value
    assert f"{field} must be a" in refused(*words)


def test_settings_of_a_sweep(refused):
    sweep = ["sweep", "--preset", "cpu", "--tasks", TASK, "--recipes"]
    assert "Mollified.samples must be" in refused(*sweep, "gcivl-mvl+regularizer.samples=0")
    assert "Mollified.weight must be" in refused(*sweep, "gcivl-mvl", "--set", "regularizer.weight=1,nan")
    assert "Learning.batch_size must be" in refused(*sweep, "gcivl-mvl", "--", "--batch-size", "0")


def test_slurm_has_no_half_gpus(refused):
    sweep = ["sweep", "--preset", "cpu", "--tasks", TASK, "--recipes", "gcivl"]
    assert "--gpus-per-run must be a whole number for SLURM" in refused(*sweep, "--engine", "slurm", "--gpus-per-run", "0.5")


PARTS = [
    Schedule(),
    Learning(),
    GoalMix(),
    *(registry.part_class(axis, n)() for axis in registry.AXES for n in registry.names(axis)),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_every_number_of_every_part_has_a_range(part):
    """None may be negative, infinite or undefined; whole numbers must be whole."""
    for field in fields(part):
        value = getattr(part, field.name)
        numbers = value if isinstance(value, tuple) else (value,)
        if isinstance(numbers[0], bool) or not isinstance(numbers[0], int | float):
            continue
        for bad in (float("nan"), float("inf"), -1, "x", True, *([1.5] if isinstance(numbers[0], int) else [])):
            with pytest.raises(UsageError, match=f"{field.name} must be a"):
                replace(part, **{field.name: (bad,) if isinstance(value, tuple) else bad})


def test_zero_is_allowed_where_it_means_something():
    for axis, name, field in (
        ("regularizer", "mollified", "weight"), ("regularizer", "mollified", "cost"), ("regularizer", "eikonal", "weight"),
        ("representation", "vib", "beta"), ("policy", "advantage_weighted", "alpha"), ("value", "transitive", "distance_power"),
    ):  # fmt: skip
        assert getattr(registry.part_class(axis, name)(**{field: 0}), field) == 0
