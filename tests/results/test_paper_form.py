"""Tables as the paper prints them: averages over rows, mean ± std, highlighting, and the protocol of a column's source."""

from statistics import fmean

import pytest
from made_runs import experiment, made_run

from mvl.cli import main
from mvl.errors import UsageError
from mvl.recipes import paper
from mvl.results.average import averages
from mvl.results.comparison import Style, comparison
from mvl.results.highlight import above_plain, near_best
from mvl.results.results import results
from mvl.results.table import Marked, Table
from mvl.studies.job import folder_of
from mvl.studies.plan import Plan, Wanted, paper_cells

SUCCESS = {
    ("pointmaze-medium", "gcivl"): (0.70, 0.80),
    ("pointmaze-medium", "gcivl-mvl"): (0.75, 0.80),
    ("pointmaze-large", "gcivl"): (0.10, 0.40),
    ("pointmaze-large", "gcivl-mvl"): (0.50, 0.60),
}


@pytest.fixture
def plan(tmp_path) -> Plan:
    """Two rows of table 1, two columns, two seeds each; a third column that is not run in one of the rows."""
    done = {**SUCCESS, ("pointmaze-medium", "vib"): (0.5, 0.5)}
    for (row, recipe), successes in done.items():
        of = experiment(recipe, task=paper.task_of(row))
        for seed, success in enumerate(successes):
            made_run(folder_of(of, tmp_path) / f"seeds-{seed}", of, [seed], success)
    cells = paper_cells("table1", ["pointmaze-medium", "pointmaze-large"], ["ORIG", "ORIG-MVL", "VIB"], "cpu", Wanted())
    return Plan("table1", "Title", cells, [0, 1], tmp_path, None, False)


def test_the_averages_that_the_paper_prints_are_means_of_its_rows():
    for column in paper.TABLES["table1"].columns:
        cells = [paper.cell("table1", row, column) for row in paper.rows("table1")]
        printed = paper.average("table1", paper.rows("table1"), column)
        assert fmean(cell.mean for cell in cells) == pytest.approx(printed.mean, abs=0.51)
        assert fmean(cell.std for cell in cells) == pytest.approx(printed.std, abs=0.51)


def test_an_average_is_compared_with_the_papers_over_the_same_rows(plan):
    orig, mollified = averages(plan, results(plan))  # VIB lacks a row
    assert [average.column for average in (orig, mollified)] == ["ORIG", "ORIG-MVL"]
    assert orig.values == pytest.approx([40, 60])
    assert orig.paper == paper.Published("table1", round((78 + 52) / 2), round((8 + 6) / 2))
    assert orig.agreement == "="
    assert mollified.text() == "66 [19, 100]"  # of 62.5 and 70
    stds = [7.0711, 21.2132]  # of 70, 80 and of 10, 40
    assert orig.text(with_std=True) == f"50 ± {fmean(stds):.0f}"


def test_the_row_of_averages_stands_below_the_others(plan):
    table = comparison(plan, results(plan))
    assert "| AVERAGE | ORIG | 50 [0, 100] | 65 ± 7 | = | 2 |  |" in table.markdown()
    assert "AVERAGE: the mean over the 2 rows" in table.markdown()
    assert r"AVERAGE & 50 [0, 100] = & 66 [19, 100] = & -- \\" in table.latex()
    assert "AVERAGE" not in table.csv()


def test_other_rows_and_single_rows_have_no_average(plan):
    one = [cell for cell in plan.cells if cell.row == "pointmaze-medium"]
    assert averages(plan, [result for result in results(plan) if result.cell in one]) == []
    others = paper_cells("table1", ["pointmaze-medium", "pointmaze-giant-navigate"], ["ORIG"], "cpu", Wanted())
    other = Plan("table1", "", others, [0], plan.store, None, False)
    assert averages(other, results(other)) == []


def test_mean_and_deviation_stand_in_place_of_the_interval(plan):
    table = comparison(plan, results(plan), Style(with_std=True))
    assert "| pointmaze-medium | ORIG | 75 ± 7 | 78 ± 8 | = | 2 | 30000 |" in table.markdown()
    assert "| AVERAGE | ORIG | 50 ± 14 | 65 ± 7 |" in table.markdown()
    assert table.notes[0].startswith("Success in percent, mean ± standard deviation over seeds (with n - 1)")
    assert r"pointmaze-medium & 75 $\pm$ 7 =" in table.latex()


def test_the_best_of_a_row_and_what_is_near_it_are_highlighted(plan):
    table = comparison(plan, results(plan), Style(with_std=True, highlight=True))
    text, markdown = table.text(), table.markdown()
    assert "ORIG      75 ± 7 *" in text  # within 5 percent of 78
    assert "| pointmaze-large | ORIG | 25 ± 21 | **52 ± 6** |" in markdown
    assert "| pointmaze-large | ORIG-MVL | **55 ± 7** | 48 ± 4 |" in markdown  # 48 is below 0.95 x 52
    assert "| pointmaze-large | VIB | not run | **50 ± 7** |" in markdown
    assert r"pointmaze-large & 25 $\pm$ 21 = & \textbf{55 $\pm$ 7 =} & -- \\" in table.latex()
    assert "within 5 percent of the best in the row" in table.notes[-1]


def test_table_1_counts_percent_of_the_best_and_table_2_points():
    def means(table, row):
        return {column: paper.cell(table, row, column).mean for column in paper.TABLES[table].columns}

    recipes = {column: about.recipe for column, about in paper.TABLES["table1"].columns.items()}
    assert near_best(means("table1", "antmaze-medium"), False) == {"VIB-MVL", "DUAL", "DUAL-MVL"}  # not ORIG with 71 of 76
    humanoid = means("table1", "humanoid-medium")
    assert near_best(humanoid, False) == {"DUAL-MVL"}
    assert above_plain(humanoid, recipes) == {"VIB-MVL", "DUAL-MVL"}  # the paper marks the first in its second color
    assert near_best(means("table2", "soccer-nav-medium"), True) == set(paper.TABLES["table2"].columns)  # 3, 6, 2 and 3
    assert near_best(means("table2", "point-nav-teleport"), True) == {"EIK-HIQL", "HIQL+MVL", "DUAL+MVL"}  # not 44 of 50
    assert paper.TABLES["table2"].in_points
    assert not paper.TABLES["table1"].in_points


def test_marks_in_every_form():
    table = Table(["a", "b"], [(Marked("1 < 2", True), Marked("50 %", False))])
    assert table.text() == "a        b\n1 < 2 *  50 % +"
    assert table.markdown().splitlines()[2] == r"| **1 \< 2** | *50 %* |"
    assert r"\textbf{1 $<$ 2} & \textit{50 \%} \\" in table.latex()


def test_the_source_of_a_column_has_its_own_protocol():
    rows, columns = ["point-nav-medium", "ant-nav-medium"], ["EIK-HIQL", "HIQL+MVL", "HIQL"]
    cells = paper_cells("table2", rows, columns, "paper", Wanted(), source=True)
    found = {(cell.row, cell.column): (cell.experiment.schedule, cell.best) for cell in cells}
    point, ant = (found[row, "EIK-HIQL"] for row in rows)
    assert (point[0].steps, point[0].eval_every, point[1]) == (100_000, 10_000, True)
    assert (ant[0].steps, ant[1]) == (1_000_000, True)
    assert found["point-nav-medium", "HIQL"] == point  # plain HIQL is compared with it, so it follows the same protocol
    assert found["point-nav-medium", "HIQL+MVL"][0].steps == 1_000_000
    assert not found["point-nav-medium", "HIQL+MVL"][1]
    small = paper_cells("table2", rows[:1], columns[:1], "cpu", Wanted(), source=True)[0]
    assert (small.experiment.schedule.steps, small.best) == (30_000, True)
    plain = paper_cells("table2", rows[:1], columns[:1], "paper", Wanted())[0]
    assert (plain.experiment.schedule.steps, plain.best) == (1_000_000, False)


def test_the_best_evaluation_counts_by_the_protocol_of_the_source(tmp_path, capsys):
    of = experiment("hiql-eik", steps="300", eval_every="100", log_every="100", save_every="100")
    run = made_run(folder_of(of, tmp_path) / "seeds-0", of, [0], 0.2)
    file = run / "evaluations.jsonl"
    first, second, *rest = file.read_text().splitlines()
    better = second.replace('"overall": 0.2, "tasks": [0.2, 0.2', '"overall": 0.8, "tasks": [0.4, 0.2')
    file.write_text("\n".join([first, better, *rest]) + "\n")
    words = ["reproduce", "table2", "--rows", "point-nav-medium", "--columns", "EIK-HIQL", "--seeds", "1", "--dry-run"]
    settings = ["--", "--steps", "300", "--eval-every", "100", "--log-every", "100", "--save-every", "100"]
    assert main([*words, "--store", str(tmp_path), *settings]) == 0
    assert "EIK-HIQL  40" in capsys.readouterr().out  # the mean of 20, 80 and 20
    assert main([*words, "--store", str(tmp_path), "--protocol", "source", *settings]) == 0
    out = capsys.readouterr().out
    assert "EIK-HIQL  80" in out
    assert "EIK-HIQL: the best evaluation of each seed" in out


def test_tables_without_such_a_column_refuse_the_protocol():
    with pytest.raises(UsageError, match="--protocol source is for table2; leave it out for table1"):
        paper_cells("table1", [], [], "cpu", Wanted(), source=True)
