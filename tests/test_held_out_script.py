"""The script that validates held-out measures: Kendall's tau by hand, its commands, and a table of made-up policies."""

import csv
import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

from mvl.evaluation.held_out.measures import MEASURES

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("held_out_script", ROOT / "scripts" / "held_out.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.RESAMPLES = 50
    return module


def policies(script, success, **measures):
    """Policies of one task with these successes and measures; None where a policy does not have one."""
    rows = [{name.replace("_", "-"): values[i] for name, values in measures.items()} for i in range(len(success))]
    known = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return [script.Policy("walk", f"gcivl {i}", 0, success[i], known[i]) for i in range(len(success))]


def test_tau_counts_pairs_in_the_order_of_success(script):
    made = policies(script, [0.1, 0.2, 0.3, 0.4], model_success=[1, 3, 2, 4], action_error=[4, 3, 2, 1])
    found = script.ranking(MEASURES["model-success"], made)
    assert found.tau == pytest.approx((5 - 1) / 6)  # one of six pairs is the wrong way around
    assert (found.policies, found.picked) == (4, 0.4)
    assert found.low <= found.tau <= found.high
    assert script.ranking(MEASURES["action-error"], made).tau == pytest.approx(1)  # lower is better
    assert script.ranking(MEASURES["model-success"], policies(script, [0.5, 0.5], model_success=[1, 2]))[:3] == (0, 0, 0)


def test_the_tables_leave_out_policies_without_a_value(script, tmp_path):
    made = policies(script, [0.1, 0.9, 0.5], model_success=[0.2, 0.8, 0.9], value_rank=[0.3, 0.4, None])
    shown, each = script.tables(made)
    assert [row[:2] for row in shown.rows] == [["walk", "value-rank"], ["walk", "model-success"]]  # best first
    assert [(row[3], row[4], row[5]) for row in shown.rows] == [(2, "90", "90"), (3, "50", "90")]
    shown.write(tmp_path, "ranking", ("md", "csv"))
    rows = list(csv.DictReader((tmp_path / "ranking.csv").read_text().splitlines()))
    assert [float(row["tau"]) for row in rows] == pytest.approx([1, 1 / 3], abs=1e-5)
    assert len(each.rows) == 3


def test_the_study_has_at_least_twelve_policies_on_three_tasks(script, tmp_path):
    sets = [script.PolicySet(**entry) for entry in tomllib.loads(script.STUDY.read_text())["set"]]
    assert len({one.task for one in sets}) >= 3
    for one in sets:
        *prepare, words = one.commands(tmp_path)
        assert len(prepare) == len(one.prepare)
        assert len(set(one.policies)) >= 12
        assert words[:2] == ["mvl", "sweep"]
