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


@pytest.mark.parametrize("terminal", [True, False])
def test_a_count_that_is_soon_done_is_not_shown(monkeypatch, capsys, terminal):
    monkeypatch.setattr(display, "Console", partial(Console, force_terminal=terminal, width=200))
    now = [0.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    with display.counting("importing", after=2.0) as report:
        report(1, 2)
        now[0] = 1.9
        report(2, 2)
    assert capsys.readouterr().err == ""
    with display.counting("importing", after=2.0) as report:
        report(1, 4)
        now[0] = 13.9
        report(2, 4)
    shown = capsys.readouterr().err
    assert "importing" in shown
    assert "2/4" in shown
    assert "left" in shown or terminal
