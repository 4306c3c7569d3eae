"""Success at equal training time, from evaluations and what a step costs."""

import csv
import io
import json

import pytest
from made_runs import TASK, experiment, made_run

from mvl.cli import main
from mvl.results import equal_time
from mvl.runs.folder import RunFolder
from mvl.studies import execution
from mvl.studies.job import folder_of


def evaluated(run, seed, successes):
    """Success at every 5000 steps of the preset's 30,000."""
    rows = [{"step": 5000 * n, "seed": seed, "overall": s, "tasks": [s] * 5} for n, s in enumerate(successes, start=1)]
    RunFolder(run).evaluations_file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_dearer_recipe_is_judged_where_the_time_is_over(tmp_path, monkeypatch, capsys):
    """Steps of twice the time: of 30,000 there is time for 15,000, and the evaluations of 5k, 10k and 15k count."""
    curves = {"gcivl": [0.0, 0.0, 0.1, 0.2, 0.2, 0.2], "gcivl-mvl": [0.1, 0.2, 0.3, 0.9, 0.9, 0.9]}
    for recipe, curve in curves.items():
        for seed in (0, 1):
            run = folder_of(experiment(recipe), tmp_path) / f"seeds-{seed}"
            evaluated(made_run(run, experiment(recipe), [seed]), seed, [value + 0.1 * seed for value in curve])
    cost = {"gcivl": 0.002, "gcivl-mvl": 0.004}
    monkeypatch.setattr(equal_time, "step_times", lambda experiments, *_: {one: cost[one.recipe_name] for one in experiments})
    command = [
        "sweep",
        "--preset",
        "cpu",
        "--tasks",
        TASK,
        "--recipes",
        "gcivl",
        "gcivl-mvl",
        "--seeds",
        "2",
        "--store",
        str(tmp_path),
    ]
    assert main([*command, "--equal-time", "--to", str(tmp_path / "to")]) == 0
    out = capsys.readouterr().out
    assert "gcivl-mvl  4.00       2.00 x" in out
    plain, mollified = csv.DictReader(io.StringIO((tmp_path / "to" / "sweep-equal-time.csv").read_text()))
    assert (plain["steps"], plain["per_seed"]) == ("30000", "20.00 30.00")
    assert (mollified["steps"], mollified["per_seed"]) == ("15000", "20.00 30.00")
    assert float(mollified["mean"]) == pytest.approx(25)
    assert "| 2.00 x | 15000 | 25 [0, 89] | 95 [" in (tmp_path / "to" / "sweep-equal-time.md").read_text()


def test_what_was_not_evaluated_by_then_is_not_guessed(tmp_path, monkeypatch, capsys):
    for recipe, successes in {"gcivl": [0.1] * 6, "gcivl-mvl": [0.9] * 6}.items():
        evaluated(made_run(folder_of(experiment(recipe), tmp_path) / "seeds-0", experiment(recipe), [0]), 0, successes)
    cost = {"gcivl": 0.001, "gcivl-mvl": 0.1}
    monkeypatch.setattr(equal_time, "step_times", lambda experiments, *_: {one: cost[one.recipe_name] for one in experiments})
    command = [
        "sweep",
        "--preset",
        "cpu",
        "--tasks",
        TASK,
        "--recipes",
        "gcivl",
        "gcivl-mvl",
        "--seeds",
        "1",
        "--store",
        str(tmp_path),
    ]
    assert main([*command, "--equal-time"]) == 0
    assert "not evaluated by then" in capsys.readouterr().out


def test_nothing_finished_has_nothing_to_compare(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(execution, "carry_out", lambda *_: {})
    command = ["sweep", "--preset", "cpu", "--tasks", TASK, "--recipes", "gcivl", "--seeds", "1", "--store", str(tmp_path)]
    assert main([*command, "--equal-time"]) == 0
    assert "no finished run of this table can be timed" in capsys.readouterr().out
