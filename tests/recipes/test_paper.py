"""The paper's tables as data: all there, every name a task or a recipe."""

import pytest

from mvl.errors import UsageError
from mvl.experiment import Experiment
from mvl.recipes import paper
from mvl.tasks import find_task

COUNTS = {"table1": 144, "table2": 64, "table3a": 10, "table3b": 10, "table7": 9, "table8": 40, "table9": 108, "table10": 432}


@pytest.mark.parametrize("table", paper.TABLES)
def test_every_cell_is_read_and_every_row_is_a_task(table):
    assert len(paper.cells(table)) == COUNTS[table]
    for row in paper.rows(table):
        find_task(paper.task_of(row))


@pytest.mark.parametrize("table", paper.TABLES)
def test_every_column_is_a_recipe_with_settings_it_has(table):
    task = find_task(paper.task_of(paper.rows(table)[0]))
    for column in paper.TABLES[table].columns.values():
        chosen = Experiment.from_preset(task, column.recipe, "paper").with_settings(column.changes)
        usual = {"regularizer.samples": "10", "regularizer.viscosity": "0.01", "regularizer.antithetic": "False"}
        assert chosen.changes() == {name: text for name, text in column.changes.items() if usual[name] != text}


def test_cells_are_those_of_the_paper():
    assert paper.cell("table1", "pointmaze-medium", "DUAL-MVL") == ("table1", 96, 3)
    assert paper.cell("table3b", "pointmaze-large", "N=1") == ("table3b", 57, 3)
    assert paper.cell("table8", "scene-play", "delta=1e1") == ("table8", 32, 4)
    assert paper.cell("table9", "D4RL/Kitchen-Partial", "ORIG", "slide_cabinet") == ("table9", 75, 0)
    assert paper.cell("table10", "pointmaze-large-navigate-oraclerep-v0", "MVL", "task2") == ("table10", 27, 20)
    assert paper.cell("table1", "pointmaze-medium", "DUAL+EIK") is None


def test_cells_are_found_by_task_and_recipe():
    found = paper.cells_for("pointmaze-medium-navigate-v0", "dual-mvl")
    assert [(cell.table, cell.mean) for cell in found] == [("table1", 96), ("table2", 96)]


def test_rows_have_the_tasks_the_paper_means():
    assert paper.task_of("point-stitch-medium") == "pointmaze-medium-stitch-v0"
    assert paper.task_of("soccer-nav-arena") == "antsoccer-arena-navigate-v0"
    assert paper.task_of("humanoid-large") == "humanoidmaze-large-navigate-v0"
    assert "AVERAGE" not in paper.rows("table1")


def test_an_unknown_table_is_named():
    with pytest.raises(UsageError, match="did you mean table3"):
        paper.named("table3")


@pytest.mark.parametrize(
    ("task", "recipe", "mean"),
    [
        ("pointmaze-medium-navigate", "orig-mvl", 70),
        ("pointmaze-large-navigate-v0", "gcivl", 52),  # tables 1 and 10 have it; table 1 comes first
        ("pointmaze-large-navigate-v0", "bc", 25),  # table 10, whose goals a point maze observes anyway
        ("antsoccer-medium-navigate-v0", "hiql-eik", 3),
        ("humanoidmaze-large-navigate-v0", "vib-mvl", 4),
        ("kitchen-partial-v2", "gcivl", 81),
        ("puzzle-3x3-play-oraclerep-v0", "trl", 99),
    ],
)
def test_the_number_beside_a_run(task, recipe, mean):
    assert paper.cells_for(task, recipe)[0].mean == mean


def test_where_the_paper_has_none():
    assert paper.cells_for("pointmaze-medium-stitch-v0", "gcivl") == []  # table 1 is about navigate data
    assert paper.cells_for("scene-play-oraclerep-v0", "dual-mvl") == []  # other goals than table 1's
