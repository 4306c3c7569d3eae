"""Tables and choices by held-out measures, where there is no environment."""

import csv
import io
import json

import pytest
from made_runs import TASK, experiment, made_run
from matplotlib.figure import Figure

from mvl.errors import MvlError, UsageError
from mvl.plots import table as picture
from mvl.results.comparison import comparison
from mvl.results.held_out import held_out_table
from mvl.results.results import results
from mvl.results.tuning import check_criterion, ranking, ranking_table, write_choice
from mvl.studies import records
from mvl.studies.job import folder_of
from mvl.studies.plan import Plan, Wanted, sweep_cells
from mvl.studies.store import runs_of

DATA = "walk.npz"
MADE = {"gcivl": (0.5, 0.7), "bc": (0.2, 0.3), "vib": ()}
"""The measure model-success of each seed."""


def judged_run(store, recipe: str, seed: int, success: float, **measures: float):
    """A finished run on a data file with saved measures."""
    of = experiment(recipe, task=DATA)
    run = made_run(folder_of(of, store) / f"seeds-{seed}", of, [seed])
    values = {"model-success": [success], **{name.replace("_", "-"): [value] for name, value in measures.items()}}
    (run / "held_out.json").write_text(json.dumps({"step": 30000, "seeds": [seed], "measures": values}))
    return run


@pytest.fixture
def plan(tmp_path):
    for recipe, successes in MADE.items():
        for seed, success in enumerate(successes):
            judged_run(
                tmp_path, recipe, seed, success, action_error=success, **({"value_rises": 0.8} if recipe == "gcivl" else {})
            )
    cells = sweep_cells([DATA], list(MADE), "cpu", {}, Wanted())
    return Plan("sweep", "Title", cells, [0, 1], tmp_path, None, False)


def test_the_best_measure_takes_the_place_of_success(plan):
    found = results(plan)
    assert [result.values for result in found] == [[50.0, 70.0], [20.0, 30.0], []]
    text = comparison(plan, found).text()
    assert "walk.npz  gcivl  60 [0, 100]" in text
    assert "not run" in text
    assert "Tasks without an environment: model-success in percent" in text
    assert "Success in percent, mean over seeds" not in text
    (row, *_) = csv.DictReader(io.StringIO(comparison(plan, found).csv()))
    assert (row["per_seed"], row["per_task"]) == ("50.00 70.00", "60.00")


def test_all_measures_are_in_a_table(plan):
    table = held_out_table(results(plan))
    assert [row[:3] for row in table.rows] == [["walk.npz", "gcivl", "0.60"], ["walk.npz", "bc", "0.25"]]
    assert table.rows[1][table.columns.index("value-rises")] == ""  # bc learns no value
    assert "action-error: squared error of the actions of held-out episodes (lower is better)" in table.notes[0]


def test_the_picture_says_what_it_shows(plan):
    ax = Figure().subplots()
    picture._panel(ax, results(plan))
    assert ax.get_xlabel() == "goals reached in a learned model, percent"


def test_recipes_are_ranked_by_any_measure(plan, tmp_path):
    ranked = ranking(results(plan), "model-success")
    assert [(entry.label, entry.per_seed) for entry in ranked] == [("gcivl", [0.5, 0.7]), ("bc", [0.2, 0.3])]
    assert [entry.label for entry in ranking(results(plan), "action-error")] == ["bc", "gcivl"]  # lower is better
    assert "model-success, goals anywhere reached" in ranking_table(ranked, "model-success").text()
    line = write_choice(plan, ranked, "model-success", tmp_path / "choice.json")
    assert "by model-success: gcivl;" in line
    choice = json.loads((tmp_path / "choice.json").read_text())
    assert (choice["recipe"], choice["ranking"][1]["per_seed"]) == ("gcivl", [0.2, 0.3])


def test_intervals_of_one_seed_are_valid_json(plan, tmp_path):
    one = Plan("sweep", "", plan.cells, [0], plan.store, None, False)
    write_choice(one, ranking(results(one), "action-error"), "action-error", tmp_path / "choice.json")
    assert json.loads((tmp_path / "choice.json").read_text(), parse_constant=pytest.fail)["ranking"][0]["low"] is None
    assert "one seed has no interval" in ranking_table(ranking(results(one), "action-error"), "action-error").text()


def test_files_have_no_folder_of_this_machine(tmp_path):
    data = tmp_path / "elsewhere" / DATA
    of = experiment("gcivl", task=str(data))
    run = made_run(folder_of(of, tmp_path) / "seeds-0", of, [0])
    (run / "held_out.json").write_text('{"step": 30000, "seeds": [0], "measures": {"model-success": [0.5]}}')
    plan = Plan("tune", "", sweep_cells([of.task], ["gcivl"], "cpu", {}, Wanted()), [0], tmp_path, None, False)
    line = write_choice(plan, ranking(results(plan), "model-success"), "model-success", tmp_path / "choice.json")
    assert line.startswith(f"chosen on {DATA} alone")
    for text in ((tmp_path / "choice.json").read_text(), comparison(plan, results(plan)).csv()):
        assert DATA in text
        assert "elsewhere" not in text


def test_a_criterion_that_cannot_rank_is_refused():
    alone, simulated, imitation = experiment("gcivl", task=DATA), experiment("gcivl"), experiment("bc", task=DATA)
    check_criterion("success", [simulated])
    check_criterion("validation", [alone, alone])
    check_criterion("value-rises", [alone, simulated])
    with pytest.raises(UsageError, match="no environment to succeed in; name one with --env, or choose --by model-success"):
        check_criterion("success", [alone])
    with pytest.raises(UsageError, match="losses of different recipes do not compare"):
        check_criterion("validation", [alone, imitation])
    with pytest.raises(UsageError, match="bc learns no value, which value-rises measures"):
        check_criterion("value-rises", [alone, imitation])
    with pytest.raises(UsageError, match="no criterion named 'model-sucess'; did you mean model-success"):
        check_criterion("model-sucess", [alone])


def test_losses_of_a_recipe_without_a_value_rank_by_the_policy_alone(tmp_path):
    of = experiment("bc")
    run = made_run(folder_of(of, tmp_path) / "seeds-0", of, [0], 0.5)
    rows = [json.loads(line) for line in (run / "evaluations.jsonl").read_text().splitlines()]
    (run / "evaluations.jsonl").write_text(
        "".join(json.dumps({k: v for k, v in row.items() if k != "validation/value/loss"}) + "\n" for row in rows)
    )
    plan = Plan("tune", "", sweep_cells([TASK], ["bc"], "cpu", {}, Wanted()), [0], tmp_path, None, False)
    assert [entry.score.mean for entry in ranking(results(plan), "validation")] == [1.0]
    (run / "evaluations.jsonl").write_text(
        "".join(json.dumps({k: v for k, v in row.items() if not k.startswith("validation")}) + "\n" for row in rows)
    )
    with pytest.raises(MvlError, match="has no validation losses in its evaluations; choose --by model-success"):
        ranking(results(plan), "validation")


def test_a_seed_that_cannot_be_judged_does_not_count(plan):
    run = folder_of(experiment("bc", task=DATA), plan.store) / "seeds-1"
    (run / "held_out.json").unlink()  # and there is no checkpoint
    assert [len(result.seeds) for result in results(plan)] == [2, 1, 0]


def test_records_keep_the_measures(plan, tmp_path):
    runs = [seed.run for result in results(plan) for seed in result.seeds]
    records.keep(runs, tmp_path / "runs.jsonl")
    assert records.take_in(records.read(tmp_path / "runs.jsonl"), tmp_path / "other", plan.experiments) == 4
    taken = runs_of(plan.experiments[0], tmp_path / "other", None).finished
    assert [seed.measures["model-success"] for seed in taken.values()] == [0.5, 0.7]
