"""One display for all runs: a bar of the whole and one for each that is running; plain lines elsewhere than on a terminal."""

import sys
import time
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from mvl.runs.display import clock
from mvl.studies.job import Job
from mvl.studies.store import progress_of

QUIET = 30.0
"""Seconds between lines that say nothing but how far it is."""
LOOK = 2.0
"""Seconds between looks at the runs' files."""


def warn(line: str) -> None:
    """A line on standard error."""
    Console(file=sys.stderr).print(line, highlight=False, markup=False, soft_wrap=True)


def duration(seconds: float) -> str:
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


class SweepDisplay:
    """Reads how far runs are from their own files, so it does not matter where they run."""

    def __init__(self, jobs: Sequence[Job], weights: Mapping[Job, float]) -> None:
        usual = sum(weights.values()) / len(weights) if weights else 1.0
        self.weights = {job: max(weights.get(job, usual), 1e-9) for job in jobs}
        self.first = {job: progress_of(job) for job in jobs}
        self.shares = dict.fromkeys(jobs, 0.0)
        self.began = self.looked = self.told = time.monotonic()
        self.said: set[Job] = set()
        self.console = Console(file=sys.stderr)
        self.bars: dict[Job, TaskID] = {}
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%  {task.fields[note]}"),
        )
        self.progress = Progress(*columns, console=self.console)
        self.whole = self.progress.add_task("all runs", total=1.0, note="")

    def __enter__(self) -> "SweepDisplay":
        if self.console.is_terminal:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self.progress.stop()

    def report(self, running: Sequence[Job], ended: Mapping[Job, str]) -> None:
        now = time.monotonic()
        news = [job for job in ended if job not in self.said]
        for job in news:
            self.said.add(job)
            self.shares[job] = 1.0
            self.say(f"failed: {job}: {ended[job]}" if ended[job] else f"done: {job}")
        if now - self.looked < LOOK and not news:
            return
        self.looked = now
        for job in running:
            self.shares[job] = self._share(job)
        self._show(running, len(ended), now, bool(news))

    def _share(self, job: Job) -> float:
        """Of what was left to do when this began."""
        total = job.experiment.schedule.steps * len(job.experiment.seeds) - self.first[job]
        return (progress_of(job) - self.first[job]) / total if total > 0 else 1.0

    def _show(self, running: Sequence[Job], ended: int, now: float, news: bool) -> None:
        whole = sum(self.weights.values())
        done = sum(weight * self.shares[job] for job, weight in self.weights.items())
        left = f"{clock((now - self.began) * (whole - done) / done)} left" if done > 0 else "time left not known yet"
        note = f"{ended}/{len(self.weights)} runs, {left}"
        if self.console.is_terminal:
            self.progress.update(self.whole, completed=done / whole, note=note)
            self._show_each(running)
        elif news or now - self.told > QUIET:
            self.told = now
            self.say(f"  {100 * done / whole:.0f} %, {note}, {len(running)} running")

    def _show_each(self, running: Sequence[Job]) -> None:
        for job in [job for job in self.bars if job not in running]:
            self.progress.remove_task(self.bars.pop(job))
        for job in running:
            if job not in self.bars:
                self.bars[job] = self.progress.add_task(str(job), total=1.0, note="")
            self.progress.update(self.bars[job], completed=self.shares[job])

    def say(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)
