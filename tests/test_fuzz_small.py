"""The standing attack on what is read: a small round finds nothing, and it notices what it looks for."""

import os
import time

import fuzz
import pytest


@pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")  # Minari's writer
@pytest.mark.parametrize(("target", "count"), [("experiments", 300), ("imports", 60), ("records", 80), ("frames", 200)])
def test_a_small_round_finds_nothing(target, count, capsys):
    assert fuzz.main(["--only", target, "--count", str(count), "--seed", "5"]) == 0
    assert "wrong 0" in capsys.readouterr().out


def test_crashes_and_hangs_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "PATIENCE", 1)

    def case(number):
        if number == 1:
            os._exit(3)
        if number == 2:
            time.sleep(30)
        return "accepted"

    found = fuzz.run_cases([0, 1, 2, 3], case, tmp_path)
    assert found[1].startswith("a crash")
    assert {number: found[number] for number in (0, 2, 3)} == {0: "accepted", 2: "a hang", 3: "accepted"}
