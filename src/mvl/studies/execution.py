"""Carry out a plan: print a summary with the estimated time, provide missing datasets, and run the remaining jobs."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from mvl.errors import MvlError, StoppedError
from mvl.studies.damage import set_aside
from mvl.studies.datasets import provide
from mvl.studies.display import SweepDisplay, warn
from mvl.studies.engines import Engine
from mvl.studies.engines.local import run
from mvl.studies.job import Job
from mvl.studies.outlook import Outlook, outlook
from mvl.studies.plan import Plan
from mvl.tasks import Task


@dataclass(frozen=True)
class Options:
    """How to carry out a plan."""

    engine: Engine | None = None
    """Runs the jobs; processes of this machine unless given."""
    at_once: int | None = None
    """Runs at the same time on this machine; one per core or device unless given."""
    episodes: int | None = None
    """Training episodes of generated datasets; as many as the published ones have unless given."""


def print_now(line: str) -> None:
    """Print a line, also to a pipe, without waiting for more."""
    print(line, flush=True)


def preview(plan: Plan, options: Options, report: Callable[[str], None] = print_now) -> AbstractContextManager[Outlook | None]:
    """The outlook of a plan in a `with` block, after its summary was reported; nothing is run or changed."""
    set_aside(plan.experiments, plan.store, warn, dry_run=True)
    return outlook(plan, report, options.at_once, options.engine is not None)


def carry_out(plan: Plan, options: Options, report: Callable[[str], None] = print_now) -> dict[str, str]:
    """Run the remaining jobs; returns those that failed, each with the reason. The same call again continues a stopped plan."""
    set_aside(plan.experiments, plan.store, warn)
    with outlook(plan, report, options.at_once, options.engine is not None) as ahead:
        if ahead is None:
            return {}
        ahead.refine(report)
    jobs, seconds = ahead.jobs, {job: time.seconds for job, time in ahead.times().items()}
    unavailable = _unavailable_tasks(jobs)
    failed_data = provide([task for task in ahead.without_data if task not in unavailable], plan.data, options.episodes)
    reasons = {job: unavailable.get(job.experiment.task) or failed_data.get(job.experiment.task.dataset, "") for job in jobs}
    runnable = [job for job, reason in reasons.items() if not reason]
    with SweepDisplay(runnable, seconds) as display, stopping_cleanly():
        failed = options.engine(runnable, display.report) if options.engine else run(runnable, display.report, ahead.places)
    not_started = {str(job): reason for job, reason in reasons.items() if reason}
    return not_started | {str(job): reason for job, reason in failed.items()}


def _unavailable_tasks(jobs: Sequence[Job]) -> dict[Task, str]:
    """Tasks whose environment is not installed, with the reason."""
    unavailable = {}
    for task in dict.fromkeys(job.experiment.task for job in jobs):
        try:
            if task.check:
                task.check()
        except MvlError as error:
            unavailable[task] = str(error)
    return unavailable


@contextmanager
def stopping_cleanly() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C: both end the command with one sentence, after the runs have saved a checkpoint."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError("stopped; the runs have saved their progress, and the same command continues them.") from None
    finally:
        signal.signal(signal.SIGTERM, previous)
