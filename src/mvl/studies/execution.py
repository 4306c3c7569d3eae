"""Carry out a plan: print a summary with the estimated time, provide missing datasets, and run the remaining jobs."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from mvl.errors import MvlError, StoppedError
from mvl.runs.display import counting
from mvl.studies.damage import set_aside
from mvl.studies.datasets import provide
from mvl.studies.display import SweepDisplay, duration, warn
from mvl.studies.engines import Engine
from mvl.studies.engines.local import places, run
from mvl.studies.job import Job
from mvl.studies.plan import Plan
from mvl.studies.timing import Probe, estimates
from mvl.tasks import Task
from mvl.tasks.datasets import missing


@dataclass(frozen=True)
class Options:
    """How to carry out a plan."""

    engine: Engine | None = None
    """Runs the jobs; processes of this machine unless given."""
    at_once: int | None = None
    """Runs at the same time on this machine; one per core or device unless given."""
    episodes: int | None = None
    """Training episodes of generated datasets; as many as the published ones have unless given."""
    dry_run: bool = False
    """Only print the summary; run and write nothing."""


def carry_out(plan: Plan, options: Options, report: Callable[[str], None] = print) -> dict[str, str]:
    """Run the remaining jobs; returns those that failed, each with the reason. The same call again continues a stopped plan."""
    set_aside(plan.experiments, plan.store, warn, options.dry_run)
    if not plan.jobs():
        report(summary(plan, [], {}, None, []))
        return {}
    with Probe() as probe:
        machine = probe.machine
        if options.engine is None and machine.get("backend", "cpu") != "cpu":
            plan = replace(plan, together=True)
        jobs = plan.jobs()
        with counting("measuring") as progress:
            seconds = estimates(jobs, plan.store, probe, progress, remember=not options.dry_run)
    free = places(machine.get("backend", "cpu"), machine.get("devices", 1), options.at_once)
    without_data = missing([job.experiment.task for job in jobs], plan.data)
    report(summary(plan, jobs, seconds, None if options.engine else len(free), without_data))
    if options.dry_run:
        return {}
    unavailable = _unavailable_tasks(jobs)
    failed_data = provide([task for task in without_data if task not in unavailable], plan.data, options.episodes)
    reasons = {job: unavailable.get(job.experiment.task) or failed_data.get(job.experiment.task.dataset, "") for job in jobs}
    runnable = [job for job, reason in reasons.items() if not reason]
    with SweepDisplay(runnable, seconds) as display, stopping_cleanly():
        failed = options.engine(runnable, display.report) if options.engine else run(runnable, display.report, free)
    not_started = {str(job): reason for job, reason in reasons.items() if reason}
    return not_started | {str(job): reason for job, reason in failed.items()}


def summary(plan: Plan, jobs: Sequence[Job], seconds: dict[Job, float], at_once: int | None, without_data: Sequence[Task]) -> str:
    """The plan as text: how many seeds are done, how many runs are left, and the estimated time."""
    wanted = len(plan.experiments) * len(plan.seeds)
    unavailable = len({cell.row for cell in plan.cells if cell.experiment is None})
    lines = [f"{plan.name}: {plan.title}"]
    lines.append(
        f"{len(plan.cells)} cells from {len(plan.experiments)} experiments, {len(plan.seeds)} seeds each: {wanted} seeds in total"
    )
    lines.append(f"{plan.done()} seeds are done, {len(jobs)} runs are left to do; store: {plan.store}")
    if unavailable:
        lines.append(f"{unavailable} rows are not available: {next(cell.why_not for cell in plan.cells if cell.why_not)}")
    if jobs:
        lines.append(f"estimated: {_time(jobs, seconds, at_once)}")
    lines += [
        f"{task.dataset} is missing; it will be {'generated' if task.generator else 'downloaded'} first" for task in without_data
    ]
    return "\n".join(lines)


def _time(jobs: Sequence[Job], seconds: dict[Job, float], at_once: int | None) -> str:
    """The estimated time in words: with `at_once` runs at the same time, or one core's time if that is not known."""
    known, rest = sum(seconds.values()), len(jobs) - len(seconds)
    unknown = f", and {rest} runs whose time cannot be measured on this machine" if rest else ""
    counted = "assuming evaluation episodes of full length, without start-up"
    if at_once is None:
        return f"{duration(known)} on one core of this machine, {counted}{unknown}"
    longest = max([*seconds.values(), known / at_once])
    return f"{duration(longest)}, {at_once} runs at a time, {counted}{unknown}"


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
