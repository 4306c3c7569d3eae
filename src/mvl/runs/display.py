"""Display of progress on standard error: a live panel on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

SHOWN_METRICS = ("value/loss", "policy/loss", "regularizer/loss", "regularizer/active", "value/mean")


class TrainingDisplay:
    """Progress, time left, speed, losses and the last success rates of a training run.

    With `shown_elsewhere`, another process shows the panel, and this one only prints lines.
    """

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
            title_column(),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=self.console,
        )
        self.bar = self.progress.add_task(title, total=steps, completed=start)
        self.note = ""
        if not self.live:
            self.print_line(
                f"{title}: {steps - start} steps, seeds {', '.join(map(str, seeds))}{', shown by process 0' * shown_elsewhere}"
            )

    def print_line(self, line: str) -> None:
        """Print a line as it is, above the panel if there is one."""
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Show the live panel within the block, on a terminal."""
        if not self.live:
            yield
            return
        with Live(self._panel(), console=self.console, refresh_per_second=4, transient=False) as self._live:
            yield

    def advance(self, step: int, speed: float, note: str = "") -> None:
        """Show that training has reached `step`; `note` says what is done now, if it is not training."""
        self.speed, self.note = speed, note
        self.progress.update(self.bar, completed=step)
        if self.live:
            self._live.update(self._panel())
        elif note:
            self.print_line(f"  step {step}: {note}")

    def show_metrics(self, rows: list[dict[str, Any]]) -> None:
        """Show new rows of metrics.jsonl, one per seed."""
        self.metrics = rows
        if not self.live:
            mean = {name: sum(row[name] for row in rows) / len(rows) for name in SHOWN_METRICS if name in rows[0]}
            step = rows[0]["step"]
            left = (self.steps - step) / self.speed if self.speed else 0
            numbers = ", ".join(f"{name} {value:.4g}" for name, value in mean.items())
            self.print_line(f"  step {step}/{self.steps}, {self.speed:.0f} steps/s, {clock(left)} left: {numbers}")

    def show_evaluations(self, rows: list[dict[str, Any]]) -> None:
        """Show new rows of evaluations.jsonl, one per seed."""
        self.evaluations, self.note = rows, ""
        if self.live:
            self._live.update(self._panel())
        else:
            for row in rows:
                success = f"success {row['overall']:.3f} ({self._task_rates(row)})"
                self.print_line(f"  step {row['step']}, seed {row['seed']}: {success}")

    def _task_rates(self, row: dict[str, Any]) -> str:
        numbers = [f"{value:.2f}" for value in row["tasks"]]
        if not self.subtasks:
            return f"tasks {' '.join(numbers)}"
        return ", ".join(f"{name} {number}" for name, number in zip(self.subtasks, numbers, strict=True))

    def _panel(self) -> Group:
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        for seed in self.seeds:
            table.add_column(f"seed {seed}", justify="right")
        for name in SHOWN_METRICS:
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
    """A duration as h:mm:ss, or m:ss below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def title_column() -> TextColumn:
    """A column of titles without markup: they may contain file names, and so brackets and braces."""
    return TextColumn("{task.description}", style="bold", markup=False)


class Count(Protocol):
    """Shows how much of something is done; the note says what is known so far."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


@contextmanager
def counting(title: str, after: float = 0.0) -> Iterator[Count]:
    """A progress bar, shown when `after` seconds have passed; yields a function to call with what is done."""
    console = Console(file=sys.stderr)
    began, last_line = time.monotonic(), time.monotonic()
    before: int | None = None  # done at the first call, by an interrupted run
    if console.is_terminal:
        columns = title_column(), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[note]}")
        with ExitStack() as shown:
            progress = Progress(*columns, console=console)
            task = progress.add_task(title, total=None, note="")

            def update(done: int, total: int, note: str = "") -> None:
                progress.update(task, completed=done, total=total, note=note)
                if not progress.live.is_started and time.monotonic() - began >= after:
                    shown.enter_context(progress)

            if after == 0:
                shown.enter_context(progress)
            yield update
        return

    def report(done: int, total: int, note: str = "") -> None:
        nonlocal last_line, before
        before = done if before is None else before
        now = time.monotonic()
        if now - began >= after and (done == total or (now - last_line > 10 and done > before)):
            last_line = now
            left = (now - began) / max(1, done - before) * (total - done)
            line = f"{title}: {done}/{total}, {clock(left)} left{f', {note}' if note else ''}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)

    yield report
