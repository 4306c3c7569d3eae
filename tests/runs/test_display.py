"""What is shown while something runs."""

from functools import partial

import pytest
from rich.console import Console

from mvl.runs import display


@pytest.mark.parametrize("terminal", [True, False])
def test_titles_are_shown_as_they_are(monkeypatch, capsys, terminal):
    """A file may be called anything."""
    monkeypatch.setattr(display, "Console", partial(Console, force_terminal=terminal, width=200))
    title = "playing runs/[/x]{0} [red]"
    with display.counting(title) as report:
        report(1, 1)
    shown = display.TrainingDisplay(title, 10, 0, [0])
    with shown.running():
        shown.advance(5, 1.0, "compiling")
    assert capsys.readouterr().err.count(title) >= 2
