import pytest

from mvl.report.paper import COLUMNS, _cells, paper_cell


@pytest.mark.parametrize(
    ("task", "recipe", "cell"),
    [
        ("pointmaze-medium-navigate-v0", "gcivl", (0.78, 0.08)),
        ("pointmaze-medium-navigate", "orig-mvl", (0.70, 0.02)),
        ("pointmaze-large-navigate-v0", "gcivl", (0.52, 0.06)),  # tables 1 and 10 have it; table 1 comes first
        ("pointmaze-large-navigate-v0", "bc", (0.25, 0.03)),  # table 10, whose goals a point maze observes anyway
        ("pointmaze-giant-navigate-v0", "hiql-mvl", (0.91, 0.04)),
        ("antsoccer-medium-navigate-v0", "hiql-eik", (0.03, 0.02)),
        ("scene-play-v0", "gcivl", (0.46, 0.03)),
        ("scene-play-v0", "hiql-eik", (0.52, 0.07)),
        ("humanoidmaze-large-navigate-v0", "vib-mvl", (0.04, 0.01)),
        ("kitchen-partial-v2", "gcivl", (0.81, 0.09)),
        ("puzzle-3x3-play-oraclerep-v0", "trl", (0.99, 0.0)),
    ],
)
def test_cells_of_the_paper(task, recipe, cell):
    assert paper_cell(task, recipe) == pytest.approx(cell)


@pytest.mark.parametrize(
    ("task", "recipe"),
    [
        ("pointmaze-medium-stitch-v0", "gcivl"),  # table 1 is about navigate data
        ("scene-play-oraclerep-v0", "dual-mvl"),  # other goals than table 1's
        ("antmaze-medium-navigate-v0", "trl"),
        ("cube-triple-play-v0", "gcivl"),
    ],
)
def test_where_the_paper_has_none(task, recipe):
    assert paper_cell(task, recipe) is None


def test_every_line_of_the_tables_is_understood():
    assert {table: len(_cells(table)) for table in COLUMNS} == {"table1": 144, "table2": 64, "table10": 72}
