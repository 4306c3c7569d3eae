"""Progress of a sweep: on a terminal one bar for all runs and one per running job, elsewhere plain lines."""

import sys
import time
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from mvl.runs.display import clock
from mvl.studies.job import Job
from mvl.studies.store import progress_of

PRINT_INTERVAL = 30.0
"""Seconds between progress lines where there is no terminal."""
READ_INTERVAL = 2.0
"""Seconds between readings of the runs' files."""


def warn(line: str) -> None:
    """Print a line on standard error."""
    Console(file=sys.stderr).print(line, highlight=False, markup=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """A time in words, in the largest unit of which there are at least two."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


class SweepDisplay:
    """Shows the progress of jobs, which it reads from their run folders: they may run on any machine that shares the store.

    `weights` are the expected seconds of each job; a job without any counts as much as the average of the others.
    """

    def __init__(self, jobs: Sequence[Job], weights: Mapping[Job, float]) -> None:
        average = sum(weights.values()) / len(weights) if weights else 1.0
        self.weights = {job: max(weights.get(job, average), 1e-9) for job in jobs}
        self.initial_steps = {job: progress_of(job) for job in jobs}
        self.shares = dict.fromkeys(jobs, 0.0)
        self.start_time = self.last_read = self.last_printed = time.monotonic()
        self.announced: set[Job] = set()
        self.console = Console(file=sys.stderr)
        self.bars: dict[Job, TaskID] = {}
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%  {task.fields[note]}"),
        )
        self.progress = Progress(*columns, console=self.console)
        self.total_bar = self.progress.add_task("all runs", total=1.0, note="")

    def __enter__(self) -> "SweepDisplay":
        if self.console.is_terminal:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self.progress.stop()

    def report(self, running: Sequence[Job], ended: Mapping[Job, str]) -> None:
        """Update the display; `ended` maps each job that ended to the reason of its failure, empty if it succeeded."""
        now = time.monotonic()
        just_ended = [job for job in ended if job not in self.announced]
        for job in just_ended:
            self.announced.add(job)
            self.shares[job] = 1.0
            self.print(f"failed: {job}: {ended[job]}" if ended[job] else f"done: {job}")
        if now - self.last_read < READ_INTERVAL and not just_ended:
            return
        self.last_read = now
        for job in running:
            self.shares[job] = self._share(job)
        self._show(running, len(ended), now, bool(just_ended))

    def _share(self, job: Job) -> float:
        """Fraction done of the steps that were left when the display was made."""
        total = job.experiment.schedule.steps * len(job.experiment.seeds) - self.initial_steps[job]
        return (progress_of(job) - self.initial_steps[job]) / total if total > 0 else 1.0

    def _show(self, running: Sequence[Job], ended: int, now: float, print_now: bool) -> None:
        total = sum(self.weights.values())
        done = sum(weight * self.shares[job] for job, weight in self.weights.items())
        left = f"{clock((now - self.start_time) * (total - done) / done)} left" if done > 0 else "time left not known yet"
        note = f"{ended}/{len(self.weights)} runs, {left}"
        if self.console.is_terminal:
            self.progress.update(self.total_bar, completed=done / total, note=note)
            self._show_each(running)
        elif print_now or now - self.last_printed > PRINT_INTERVAL:
            self.last_printed = now
            self.print(f"  {100 * done / total:.0f} %, {note}, {len(running)} running")

    def _show_each(self, running: Sequence[Job]) -> None:
        for job in [job for job in self.bars if job not in running]:
            self.progress.remove_task(self.bars.pop(job))
        for job in running:
            if job not in self.bars:
                self.bars[job] = self.progress.add_task(str(job), total=1.0, note="")
            self.progress.update(self.bars[job], completed=self.shares[job])

    def print(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)
