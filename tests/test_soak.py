"""The standing attack: it finds nothing in a small round, and it notices what it looks for."""

import re

import numpy as np
import pytest
import soak
from attack import kills
from attack.commands import Ended, Place


def test_a_small_round_loses_nothing(capsys):
    assert soak.main(["--times", "1", "--only", "import", "generate", "--seed", "3"]) == 0
    assert re.search(r"generate +1 tried, +[1-3] kills, 0 failed", capsys.readouterr().out)


def test_files_that_differ_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(kills, "run_killed", lambda *_, **__: False)

    def run(words, folder):
        (folder / words[0] / "result").write_text(words[0])
        return Ended(0, "")

    monkeypatch.setattr(kills, "run", run)
    found = kills.interrupted(lambda to, place: [to], Place(tmp_path, tmp_path, []), np.random.default_rng(0))
    assert found == ["result differs"]


@pytest.mark.parametrize(("ended", "said"), [(Ended(1, "a sentence"), "exit code 1"), (Ended(0, "Traceback ..."), "a traceback")])
def test_ends_that_are_wrong_are_noticed(ended, said):
    (found,) = ended.wrong(0)
    assert found.startswith(said)
