"""The plan of a dry run: there at once with a guess of its time, then measured, and nothing measured is lost."""

import time

import pytest
from made_runs import TASK
from probes import StandIn

from mvl.cli import main
from mvl.studies import outlook
from mvl.studies.probe import Machine

WHOLE = ["reproduce", "table1", "--preset", "paper", "--dry-run"]
TWO = ["sweep", "--tasks", TASK, "--recipes", "gcivl", "dual", "--dry-run"]


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setattr(outlook, "Probe", StandIn)


def estimates(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("estimated: ")]


def test_the_plan_of_a_whole_table_is_printed_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    printed, began = [], time.process_time()

    def ask(self, **question):
        printed.append((capsys.readouterr().out, time.process_time() - began))
        return StandIn.ask(self, **question)

    monkeypatch.setattr(outlook, "Probe", type("Asked", (StandIn,), {"ask": ask}))
    assert main([*WHOLE, "--store", str(tmp_path / "store")]) == 0
    first, seconds = printed[0]
    assert "135 cells from 135 experiments, 4 seeds each: 540 seeds in total" in first
    assert "(a guess for 540 of 540 runs)" in estimates(first)[0]
    assert "cube-double" in first  # the table as it stands
    assert "dry run: nothing was run or written" in first
    assert seconds < 3  # of this process alone; other processes do not slow it down
    (refined,) = estimates(capsys.readouterr().out)
    assert "guess" not in refined
    assert len(printed) == 16 + 15  # steps of nine columns, seven of them in two sizes of the representation; and the tasks


def test_times_are_kept_when_a_dry_run_is_interrupted(tmp_path, monkeypatch, capsys):
    def ask(self, **question):
        if len(self.asked) == 1:
            raise KeyboardInterrupt
        return StandIn.ask(self, **question)

    with monkeypatch.context() as patch:
        patch.setattr(outlook, "Probe", type("Interrupted", (StandIn,), {"ask": ask}))
        assert main([*TWO, "--store", str(tmp_path / "store")]) == 130
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1] == (
        "mvl: stopped; the times measured so far are kept, and the same command measures the rest."
    )
    assert "(a guess for 2 of 2 runs)" in captured.out
    assert main([*TWO, "--store", str(tmp_path / "store")]) == 0
    assert len(StandIn.asked) == 2  # of three
    first, refined = estimates(capsys.readouterr().out)
    assert "guess" in first
    assert "guess" not in refined
    assert main([*TWO, "--store", str(tmp_path / "store")]) == 0
    assert StandIn.asked == []
    assert estimates(capsys.readouterr().out) == [refined]


def test_progress_of_measuring_is_shown_with_the_estimate_so_far(tmp_path, capsys):
    assert main([*TWO, "--store", str(tmp_path / "store")]) == 0
    assert "measuring: 3/3, 0:00 left" in capsys.readouterr().err


def test_on_an_accelerator_nothing_is_guessed_before_a_step_was_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(StandIn, "machine", Machine("gpu", 2, "a GPU", 1e13))
    assert main([*TWO, "--seeds", "3", "--store", str(tmp_path / "store")]) == 0
    first, refined = estimates(capsys.readouterr().out)
    assert "and 2 runs whose time is not known" in first  # the seeds of an experiment train together
    assert "not known" not in refined
    assert "2 runs at a time" in refined
    assert [question["seeds"] for question in StandIn.asked if "seeds" in question] == [3, 3]
