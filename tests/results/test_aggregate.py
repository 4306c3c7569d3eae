"""Columns over all tasks of a table."""

import pytest
from made_runs import experiment, made_run

from mvl.results.aggregate import aggregates
from mvl.results.results import results
from mvl.studies.job import folder_of
from mvl.studies.plan import Plan, Wanted, paper_cells

ROWS = ["pointmaze-medium", "pointmaze-large"]


def filled(folder, columns, successes):
    """Every seed has that success on four tasks, and one on the fifth."""
    for row in ROWS:
        for recipe, values in successes.items():
            of = experiment(recipe, task=f"{row}-navigate-v0")
            for seed, success in enumerate(values):
                made_run(folder_of(of, folder) / f"seeds-{seed}", of, [seed], success)
    return results(Plan("table1", "", paper_cells("table1", ROWS, columns, "cpu", Wanted()), [0, 1, 2], folder, None, False))


def test_columns_are_set_against_the_same_without_a_regularizer_or_else_the_first(tmp_path):
    successes = {"gcivl": (0.5, 0.6), "vib": (0.1, 0.2), "vib-mvl": (0.4, 0.5)}
    found = aggregates(filled(tmp_path, ["ORIG", "VIB", "VIB-MVL"], successes))
    assert [(line.column, line.rival) for line in found] == [("ORIG", ""), ("VIB", "ORIG"), ("VIB-MVL", "VIB")]
    assert found[0].better is None
    assert [line.better.value for line in found[1:]] == [pytest.approx(0.1), pytest.approx(0.9)]  # the fifth task is a tie
    # Middle half of 20 scores: of VIB 8 are 0.1, 8 are 0.2 and 4 are 1.
    assert found[1].score.value == pytest.approx(100 * (3 * 0.1 + 7 * 0.2) / 10)
    assert found[1].score.low < found[1].score.value < found[1].score.high
    assert aggregates(filled(tmp_path, ["ORIG", "VIB", "VIB-MVL"], {})) == found  # the same draws again


def test_columns_that_miss_a_row_or_a_second_seed_are_left_out(tmp_path):
    lone = {"gcivl": (0.5, 0.6), "vib": (0.1, 0.2), "dual": (0.3,)}
    assert [line.column for line in aggregates(filled(tmp_path, ["ORIG", "VIB", "DUAL", "TRA"], lone))] == ["ORIG", "VIB"]
    of = experiment("tra", task="pointmaze-large-navigate-v0")
    for seed in (0, 1):
        made_run(folder_of(of, tmp_path) / f"seeds-{seed}", of, [seed], 0.5)
    assert aggregates(filled(tmp_path, ["ORIG", "TRA"], {})) == []
