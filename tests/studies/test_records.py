"""Finished runs without weights: kept in a file beside a table, and taken in by a store that does not have them."""

import json

import pytest
from made_runs import TASK, experiment, made_run

from mvl.cli import main
from mvl.errors import MvlError, UsageError
from mvl.results.comparison import comparison
from mvl.results.results import results
from mvl.studies import execution, records
from mvl.studies.job import folder_of
from mvl.studies.outlook import summary
from mvl.studies.plan import Plan, Wanted, paper_cells
from mvl.studies.store import process_seconds, runs_of


def test_what_is_kept_is_not_done_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(execution, "carry_out", lambda plan, options: print(summary(plan, len(plan.jobs()))) or {})
    of = experiment()
    first, second, file = tmp_path / "first", tmp_path / "second", tmp_path / "runs.jsonl"
    run = made_run(folder_of(of, first) / "seeds-0", of, [0], 0.4)
    events = [{"event": "began", "time": 0.0}, {"event": "ended", "time": 90.0}]
    run.with_name("seeds-0.clock.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    described = json.loads((run / "run.json").read_text())
    described["data"]["path"] = "/somewhere/else/walk.npz"
    (run / "run.json").write_text(json.dumps(described))
    (run / "value.png").write_bytes(b"a picture")
    made_run(folder_of(of, first) / "seeds-1", of, [1], 0.6, until=20)

    ask = ["sweep", "--preset", "cpu", "--tasks", TASK, "--recipes", "gcivl", "--seeds", "2", "--records", str(file)]
    assert main([*ask, "--store", str(first)]) == 0
    assert "keeping 1 finished runs" in capsys.readouterr().out
    (line,) = map(json.loads, file.read_text().splitlines())
    assert (line["task"], line["seeds"], line["seconds"], line["data"]["path"]) == (TASK, [0], 90.0, "walk.npz")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["runs.jsonl"]

    assert main([*ask, "--store", str(second)]) == 0
    out = capsys.readouterr().out
    assert "took in 1 finished runs" in out
    assert "1 seeds are done, 1 runs are left to do" in out
    there = runs_of(of, second, None).finished
    assert list(there) == [0]
    assert round(there[0].overall, 6) == 0.4
    assert process_seconds(there[0].run) == 90
    assert main([*ask, "--store", str(second)]) == 0
    assert "took in" not in capsys.readouterr().out


@pytest.fixture
def runs(tmp_path):
    """Finished runs of three recipes in a store, the first with two seeds in one run and a measured surface."""
    store, made = tmp_path / "store", []
    for recipe, seeds, success in (("gcivl", [0, 1], 0.7512345), ("vib", [0], 0.1), ("dual", [10], 0.3), ("dual", [2], 0.2)):
        of = experiment(recipe)
        made.append(made_run(folder_of(of, store) / f"seeds-{seeds[0]}", of, seeds, success))
    made[0].joinpath("surface.json").write_text('{"ascent": 0.5}')
    return made


def table(store):
    cells = paper_cells("table1", ["pointmaze-medium"], ["ORIG", "VIB", "DUAL", "VIP"], "cpu", Wanted())
    plan = Plan("table1", "Title", cells, [0, 1, 2, 10], store, None, False)
    return comparison(plan, results(plan))


def test_tables_from_records_are_the_same_to_the_last_digit(tmp_path, runs):
    file, store, other = tmp_path / "runs.jsonl", tmp_path / "store", tmp_path / "other"
    experiments = [experiment(name) for name in ("gcivl", "vib", "dual", "vip")]
    assert records.keep(runs, file) == 4
    assert records.take_in(records.read(file), other, experiments) == 4
    assert (table(other).csv(), table(other).markdown()) == (table(store).csv(), table(store).markdown())
    again = tmp_path / "again.jsonl"
    records.keep(sorted(other.glob("*/*/*/seeds-*/"), reverse=True), again)
    assert again.read_bytes() == file.read_bytes()


def test_a_file_serves_several_tables_and_is_sorted(tmp_path, runs):
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    records.keep(runs, whole)
    for run in (runs[2], runs[0], runs[3], runs[1]):
        records.keep([run], parts)
    assert parts.read_bytes() == whole.read_bytes()
    seeds = [json.loads(line)["seeds"] for line in whole.read_text().splitlines()]
    assert seeds == [[2], [10], [0, 1], [0]]  # dual, gcivl, vib
    assert records.keep([], tmp_path / "none.jsonl") == 0
    assert not (tmp_path / "none.jsonl").exists()


def test_a_run_of_parts_that_are_not_installed_stays_in_the_file(tmp_path, runs):
    file = tmp_path / "runs.jsonl"
    records.keep(runs[:1], file)
    line = json.loads(file.read_text())
    line["recipe"]["regularizer"] = {"name": "someone:Else", "weight": 1.0}
    text = json.dumps(line) + "\n"
    file.write_text(text)
    assert records.take_in(records.read(file), tmp_path / "other", [experiment()]) == 0
    records.keep(runs[1:], file)
    assert text in file.read_text()
    assert file.read_text().count("\n") == 4


def test_a_record_of_own_data_counts_wherever_the_same_file_lies(tmp_path):
    first, second, file = tmp_path / "first" / "mine.npz", tmp_path / "second" / "mine.npz", tmp_path / "runs.jsonl"
    for path in (first, second):
        path.parent.mkdir()
    of, elsewhere = (experiment(task=str(path)) for path in (first, second))
    run = made_run(folder_of(of, tmp_path / "store") / "seeds-0", of, [0])
    records.keep([run], file)
    assert str(tmp_path) not in file.read_text()
    assert records.take_in(records.read(file), tmp_path / "other", [elsewhere]) == 1  # there is no file to compare with
    assert list(runs_of(elsewhere, tmp_path / "other", None).finished) == [0]
    records.check_equal(records.read(file), tmp_path / "other", [elsewhere])
    second.write_bytes(b"another file of that name")
    assert records.take_in(records.read(file), tmp_path / "third", [elsewhere]) == 0


def changed(line, **values):
    return json.dumps({**json.loads(line), **values})


BROKEN = {
    "truncated": (lambda line: line[:100], "Unterminated string"),
    "a row of metrics": (lambda line: '{"step": 3, "seed": 0}', "KeyError('format')"),
    "another kind of JSON": (lambda line: "[1, 2]", "TypeError"),
    "empty": (lambda line: "", "Expecting value"),
    "unfinished": (lambda line: changed(line, evaluations=json.loads(line)["evaluations"][:-1]), "step 30000 is missing"),
    "without success": (lambda line: line.replace('"overall"', '"over"'), "KeyError('overall')"),
    "another seed": (lambda line: changed(line, seeds=[5]), "a seed that is not the run's"),
    "without time": (lambda line: changed(line, seconds=float("nan")), "seconds is not a number"),
    "a newer version": (lambda line: changed(line, format=2), "a newer mvl wrote format 2, this one reads 1"),
    "no version": (lambda line: changed(line, format=-0.5), "format -0.5"),
    "a merge": (lambda line: "<<<<<<< HEAD", "Expecting value"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_damaged_line_is_refused_by_its_number_before_anything_changes(tmp_path, runs, monkeypatch, capsys, kind):
    monkeypatch.setattr(execution, "carry_out", lambda *_: pytest.fail("it ran"))
    file, store = tmp_path / "runs.jsonl", tmp_path / "new"
    records.keep(runs, file)
    lines = file.read_text().splitlines()
    damage, reason = BROKEN[kind]
    file.write_text("\n".join([*lines[:3], damage(lines[3])]) + "\n")
    before = file.read_bytes()
    words = [
        "sweep",
        "--preset",
        "cpu",
        "--tasks",
        TASK,
        "--recipes",
        "vib",
        "gcivl",
        "--store",
        str(store),
        "--records",
        str(file),
        "--overwrite",
    ]
    for dry in ([], ["--dry-run"]):
        assert main([*words, *dry]) == 1
        err = capsys.readouterr().err
        assert err.startswith(f"mvl: {file}, line 4: not a record of a finished run (")
        assert reason in err
        assert err.count("\n") == 1
    assert file.read_bytes() == before
    assert not store.exists()


def test_a_run_twice_and_a_folder_are_refused(tmp_path, runs):
    file = tmp_path / "runs.jsonl"
    records.keep(runs[:1], file)
    file.write_bytes(2 * file.read_bytes())
    with pytest.raises(MvlError, match="line 2: .*an earlier line is about the same run"):
        records.read(file)
    with pytest.raises(UsageError, match="is a folder; name a file for the records, such as .*runs.jsonl"):
        records.read(tmp_path)
