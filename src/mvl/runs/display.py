"""What a person sees while something runs: a live panel on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

SHOWN = ("value/loss", "policy/loss", "regularizer/loss", "regularizer/active", "value/mean")


class TrainingDisplay:
    """Progress, time left, speed, losses and the last success rates of a training run."""

    def __init__(
        self, title: str, steps: int, start: int, seeds: list[int], subtasks: tuple[str, ...] = (), shown_elsewhere: bool = False
    ) -> None:
        self.console = Console(file=sys.stderr)
        self.live = self.console.is_terminal and not shown_elsewhere
        self.steps, self.start, self.seeds, self.subtasks = steps, start, seeds, subtasks
        self.metrics: list[dict[str, Any]] = []
        self.evaluations: list[dict[str, Any]] = []
        self.speed = 0.0
        self.progress = Progress(
            titles(), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(elapsed_when_finished=True), console=self.console
        )
        self.bar = self.progress.add_task(title, total=steps, completed=start)
        self.note = ""
        if not self.live:
            self.say(
                f"{title}: {steps - start} steps, seeds {', '.join(map(str, seeds))}{', shown by process 0' * shown_elsewhere}"
            )

    def say(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        if not self.live:
            yield
            return
        with Live(self._panel(), console=self.console, refresh_per_second=4, transient=False) as self._live:
            yield

    def advance(self, step: int, speed: float, note: str = "") -> None:
        """A dispatch is done, or something else is going on (`note`)."""
        self.speed, self.note = speed, note
        self.progress.update(self.bar, completed=step)
        if self.live:
            self._live.update(self._panel())
        elif note:
            self.say(f"  step {step}: {note}")

    def measured(self, rows: list[dict[str, Any]]) -> None:
        self.metrics = rows
        if not self.live:
            mean = {name: sum(row[name] for row in rows) / len(rows) for name in SHOWN if name in rows[0]}
            step = rows[0]["step"]
            left = (self.steps - step) / self.speed if self.speed else 0
            numbers = ", ".join(f"{name} {value:.4g}" for name, value in mean.items())
            self.say(f"  step {step}/{self.steps}, {self.speed:.0f} steps/s, {clock(left)} left: {numbers}")

    def evaluated(self, rows: list[dict[str, Any]]) -> None:
        self.evaluations, self.note = rows, ""
        if self.live:
            self._live.update(self._panel())
        else:
            for row in rows:
                self.say(f"  step {row['step']}, seed {row['seed']}: success {row['overall']:.3f} ({self._tasks(row)})")

    def _tasks(self, row: dict[str, Any]) -> str:
        numbers = [f"{value:.2f}" for value in row["tasks"]]
        if not self.subtasks:
            return f"tasks {' '.join(numbers)}"
        return ", ".join(f"{name} {number}" for name, number in zip(self.subtasks, numbers, strict=True))

    def _panel(self) -> Group:
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        for seed in self.seeds:
            table.add_column(f"seed {seed}", justify="right")
        for name in SHOWN:
            if self.metrics and name in self.metrics[0]:
                table.add_row(name, *[f"{row[name]:.4g}" for row in self.metrics])
        if self.evaluations:
            table.add_row(f"success at {self.evaluations[0]['step']}", *[f"{r['overall']:.3f}" for r in self.evaluations])
            for task in range(len(self.evaluations[0]["tasks"])):
                name = self.subtasks[task] if self.subtasks else f"task {task + 1}"
                table.add_row(f"  {name}", *[f"{row['tasks'][task]:.2f}" for row in self.evaluations])
        status = f"{self.speed:.0f} steps/s  {self.note}"
        return Group(self.progress, Text(status, style="dim"), table)


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def titles() -> TextColumn:
    """A column of task descriptions as they are: they may hold file names, and so brackets and braces."""
    return TextColumn("{task.description}", style="bold", markup=False)


@contextmanager
def counting(title: str) -> Iterator[Any]:
    """A progress bar for work that is counted; call what it gives with (done, total)."""
    console = Console(file=sys.stderr)
    began, told = time.monotonic(), time.monotonic()
    before: int | None = None  # done by an earlier try
    if console.is_terminal:
        with Progress(titles(), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console) as progress:
            task = progress.add_task(title, total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)
        return

    def line(done: int, total: int) -> None:
        nonlocal told, before
        before = done if before is None else before
        now = time.monotonic()
        if done == total or (now - told > 10 and done > before):
            told = now
            left = (now - began) / max(1, done - before) * (total - done)
            console.print(f"{title}: {done}/{total}, {clock(left)} left", highlight=False, markup=False, soft_wrap=True)

    yield line
