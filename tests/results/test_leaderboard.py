"""The leaderboard: runs and publications in one table, best first, with what makes them comparable."""

import json

import pytest
from made_runs import TASK, experiment, made_run

from mvl.cli import main
from mvl.errors import DataError
from mvl.results.leaderboard import Entry, entries_of_file, entries_of_paper, entries_of_records, leaderboard
from mvl.studies import records


@pytest.fixture
def recorded(tmp_path):
    """Records of two seeds of one experiment, with a memory and a comparison of plans."""
    of, runs = experiment(), []
    for seed, success in ((0, 0.5), (1, 0.7)):
        run = made_run(tmp_path / f"seeds-{seed}", of, [seed], success)
        with open(run / "timing.jsonl", "a") as file:
            file.write(json.dumps({"step": of.schedule.steps, "time": 1600.0, "memory": 2 * 10**9}) + "\n")
        (run / "plans.json").write_text(json.dumps({"plain": [0.25], "planned": [1.0]}))
        runs.append(run)
    records.keep(runs, tmp_path / "runs.jsonl")
    return tmp_path / "runs.jsonl"


def test_runs_of_one_experiment_are_one_entry_and_two_more_for_plans(recorded):
    trained, plain, planned = entries_of_records(records.read(recorded), "ours")
    assert (trained.task, trained.method, trained.seeds, trained.protocol) == (TASK, "gcivl (cpu)", 2, "last 3")
    assert trained.success == pytest.approx(60)
    assert (trained.steps, trained.batch, trained.width, trained.episodes) == (30_000, 256, 96, 20)
    assert trained.gigabytes == pytest.approx(2)
    assert (plain.success, planned.success, planned.method, planned.episodes) == (25, 100, "gcivl (cpu), graph", 50)


def test_a_record_keeps_its_memory_when_it_is_unpacked_and_kept_again(recorded, tmp_path):
    (first, _) = records.read(recorded)
    first.unpack(tmp_path / "again", first.description.experiment)
    assert records.Record.of_run(tmp_path / "again").line == first.line


def test_the_papers_numbers_carry_the_protocol_they_were_made_with():
    found = {(entry.task, entry.method, entry.source.split(", ")[-1]): entry for entry in entries_of_paper()}
    dual = found[TASK, "dual-mvl", "DUAL+MVL"]
    assert (dual.success, dual.shown, dual.steps, dual.protocol) == (96, "96 ± 3", 1_000_000, "last 3")
    assert found[TASK, "hiql-eik", "EIK-HIQL"].protocol == "best"
    assert found[TASK, "gcivl", "ORIG"].seeds == 8  # quoted from another publication


def test_numbers_are_sorted_by_task_and_success():
    entries = [Entry("b", "x", 10, "10"), Entry("a", "x", 20, "20"), Entry("a", "y", 30, "30")]
    assert [row[:3] for row in leaderboard(entries).rows] == [["a", "y", "30"], ["a", "x", "20"], ["b", "x", "10"]]


def test_published_numbers_are_read_from_csv(tmp_path):
    file = tmp_path / "more.csv"
    file.write_text(f"task,method,success,deviation,steps,source\n{TASK},mine,77,2,500,a talk\n")
    (entry,) = entries_of_file(file)
    assert entry == Entry(TASK, "mine", 77.0, "77 ± 2", steps=500, source="a talk")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"task,method\n{TASK},mine\n", "line 2: not a published number ('success')"),
        (f"task,method,success\n{TASK},mine,high\n", "line 2: not a published number (could not convert"),
        (f"task,method,success,wins\n{TASK},mine,1,2\n", "wins is not a column of a leaderboard"),
    ],
)
def test_a_line_that_is_no_number_is_named(text, reason, tmp_path):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(DataError) as error:
        entries_of_file(tmp_path / "bad.csv")
    assert reason in str(error.value)


def test_the_command_writes_a_page_and_replaces_nothing(recorded, tmp_path, capsys):
    words = ["leaderboard", "--records", str(recorded), "--tasks", TASK, "--to", str(tmp_path / "out")]
    assert main(words) == 0
    page = (tmp_path / "out" / "leaderboard.md").read_text()
    assert page.index("gcivl (cpu), graph | 100") < page.index("| dual-mvl | 96 ± 3") < page.index("| gcivl (cpu) | 60")
    assert main(words) == 1
    assert "exists already" in capsys.readouterr().err
    assert main(["leaderboard", "--records", "nothing.jsonl"]) == 2
    assert "nothing.jsonl does not exist" in capsys.readouterr().err
