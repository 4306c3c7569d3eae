"""From seeds to the table, in every form, and the choice of a setting."""

import csv
import io
import json

import pytest
from made_runs import TASK, experiment, made_run
from matplotlib.figure import Figure

from mvl.cli import main
from mvl.plots import table as picture
from mvl.results.comparison import comparison
from mvl.results.results import results
from mvl.results.table import Table
from mvl.results.tuning import ranking, ranking_table, write_choice
from mvl.studies import execution
from mvl.studies.job import folder_of
from mvl.studies.plan import Plan, Wanted, paper_cells, sweep_cells


@pytest.fixture
def filled(tmp_path):
    """ORIG as in the paper, VIB far below, DUAL with one seed, VIP not run."""
    for recipe, successes in {"gcivl": (0.76, 0.80, 0.77), "vib": (0.10, 0.12), "dual": (0.7,)}.items():
        of = experiment(recipe)
        for seed, success in enumerate(successes):
            made_run(folder_of(of, tmp_path) / f"seeds-{seed}", of, [seed], success)
    cells = paper_cells("table1", ["pointmaze-medium"], ["ORIG", "VIB", "VIP", "DUAL"], "cpu", Wanted())
    return Plan("table1", "Title", cells, [0, 1, 2], tmp_path, None, False)


def test_agreement_is_judged_by_intervals(filled):
    found = results(filled)
    assert [result.agreement for result in found] == ["=", "<", "", "?"]
    assert found[0].ours == "78 [72, 83]"
    assert [result.ours for result in found[2:]] == ["not run", "70"]


def test_all_forms_tell_the_same(filled, tmp_path):
    table = comparison(filled, results(filled))
    assert "ORIG  78 [72, 83]  78 ± 8   =  3      30000" in table.text()
    assert "| pointmaze-medium | ORIG | 78 [72, 83] | 78 ± 8 | = | 3 | 30000 |" in table.markdown()
    assert "| pointmaze-medium | VIP | not run | 0 ± 1 |  | 0 |  |" in table.markdown()
    assert "6 finished runs" in table.markdown()
    assert "| VIB | 11 [10, 12] | 0.10 [0.10, 0.10] against ORIG |" in table.markdown()
    assert "VIB   11 [10, 12]         0.10 [0.10, 0.10] against ORIG" in table.text()
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert rows[0]["per_seed"] == "76.00 80.00 77.00"
    assert rows[0]["per_task"] == "77.67 77.67 77.67 77.67 100.00"
    assert (rows[0]["seconds"], rows[0]["data_sha256"]) == ("90000", "f" * 12)
    assert r"pointmaze-medium & 78 [72, 83] = & 11 [0, 24] $<$ & -- & 70 ? \\" in table.latex()
    assert [path.name for path in table.write(tmp_path / "to", "table1")] == ["table1.md", "table1.csv", "table1.tex"]


def test_a_table_prints_itself_in_four_forms(tmp_path):
    table = Table(
        ["row", "column", "", "share"],
        [("maze", "a", "<", "12 %"), ("maze", "b_c", "", None)],
        "Title",
        ["What it means: 1 ± 2."],
        labels=2,
        below=[Table(["x"], [(1,)], notes=["More."]), "The end."],
        as_csv=Table(["row", "share"], [("maze", 0.125)]),
    )
    text = (
        "Title\n              share\nmaze  a    <  12 %\n      b_c     None\n\nWhat it means: 1 ± 2.\n\nx\n1\n\nMore.\n\nThe end."
    )
    assert table.text() == text
    assert table.markdown() == (
        "## Title\n\nWhat it means: 1 ± 2.\n\n| row | column | | share |\n|---|---|---|---|\n| maze | a | \\< | 12 % |\n"
        "| maze | b_c |  | None |\n\nMore.\n\n| x |\n|---|\n| 1 |\n\nThe end.\n"
    )
    assert table.csv() == "row,share\nmaze,0.125\n"
    lines = table.latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrrr}"
    assert lines[4:6] == [r"maze & a & $<$ & 12 \% \\", r"maze & b\_c &  & None \\"]
    assert lines[-1] == "% What it means: 1 +- 2."
    assert Table(["x"], [], if_empty="nothing yet").text() == "nothing yet"
    assert [path.name for path in table.write(tmp_path, "it", ("csv",))] == ["it.csv"]


def test_tasks_have_lines_of_their_own(tmp_path):
    task = "pointmaze-large-navigate-oraclerep-v0"
    of = experiment("gcivl-mvl", task=task)
    made_run(folder_of(of, tmp_path) / "seeds-0", of, [0], 0.25)
    plan = Plan("table10", "", paper_cells("table10", [task], ["MVL"], "cpu", Wanted()), [0], tmp_path, None, False)
    found = results(plan)
    assert [result.values for result in found] == [[25], [25], [25], [25], [100], [25]]
    assert str(found[1].cell.paper) == "27 ± 20"


def test_the_best_setting_is_written_down(tmp_path):
    for weight, successes in {"1.0": (0.2, 0.3), "3.0": (0.9, 0.8)}.items():
        of = experiment("gcivl-mvl", regularizer__weight=weight)
        for seed, success in enumerate(successes):
            made_run(folder_of(of, tmp_path) / f"seeds-{seed}", of, [seed], success)
    cells = sweep_cells([TASK], ["gcivl-mvl"], "cpu", {"regularizer.weight": ["1", "3", "30"]}, Wanted())
    plan = Plan("tune", "", cells, [0, 1], tmp_path, None, False)
    ranked = ranking(results(plan), "success")
    assert [round(entry.score.mean) for entry in ranked] == [85, 25]  # the third has nothing yet
    assert "the intervals of the first two overlap" in ranking_table(ranked, "success").text()
    line = write_choice(plan, ranked, "success", tmp_path / "choice.json")
    assert line.startswith(f"chosen on {TASK} alone, by success: gcivl-mvl regularizer.weight=3;")
    assert json.loads((tmp_path / "choice.json").read_text())["changes"] == {"regularizer.weight": "3.0"}
    by_loss = ranking(results(plan), "validation")
    assert [round(entry.score.mean, 2) for entry in by_loss] == [1.25, 1.85]  # the lower loss first


def test_a_page_about_the_runs(filled, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.html"
    words = ["reproduce", "table1", "--rows", "pointmaze-medium", "--columns", "DUAL", "--store", str(tmp_path)]
    assert main([*words, "--seeds", "1", "--report", str(page)]) == 0
    assert "dual" in page.read_text()
    assert main([*words, "--seeds", "1", "--report", str(page)]) == 1
    assert "exists already" in capsys.readouterr().err
    monkeypatch.setattr(execution, "carry_out", lambda *_: {})
    assert main([*words[:3], "pointmaze-large", *words[4:], "--report", str(tmp_path / "none.html")]) == 2
    assert "no run is finished yet" in capsys.readouterr().err


def test_the_picture_has_every_seed_and_the_papers_cell(filled, tmp_path):
    ax = Figure().subplots()
    picture._panel(ax, results(filled))
    by_color = lambda color, marker: [
        list(line.get_xdata()) for line in ax.lines if (line.get_color(), line.get_marker()) == (color, marker)
    ]
    assert [pytest.approx(values) for values in ([76, 80, 77], [10, 12], [70])] == by_color(picture.OURS, "o")[::2]
    assert by_color(picture.OURS, "None")[0] == pytest.approx([72.49, 82.84], abs=0.01)  # one seed has no interval
    assert len(by_color(picture.OURS, "None")) == 2
    assert by_color(picture.PAPER, "D") == [[78], [69], [0], [76]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ORIG", "VIB", "VIP (not run)", "DUAL"]
    assert picture.write(filled, results(filled), tmp_path).read_bytes().startswith(b"\x89PNG")
