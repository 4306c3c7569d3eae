"""From a plan to its table: say what it takes, get the data, run what is left, show what came of it."""

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
    """How to carry a plan out."""

    engine: Engine | None = None
    """Other than processes on this machine."""
    at_once: int | None = None
    """Runs at a time on this machine; one per core or device unless given."""
    episodes: int | None = None
    """Training episodes of datasets that are generated; as many as the published ones unless given."""
    dry_run: bool = False
    """Only say what there is to do; write nothing."""


def carry_out(plan: Plan, options: Options, say: Callable[[str], None] = print) -> dict[str, str]:
    """Returns what failed, with the reason. Whatever is finished stays so: the same call goes on where it was stopped."""
    set_aside(plan.experiments, plan.store, warn, options.dry_run)
    if not plan.jobs():
        say(described(plan, [], {}, None, []))
        return {}
    with Probe() as probe:
        machine = probe.machine
        if options.engine is None and machine.get("backend", "cpu") != "cpu":
            plan = replace(plan, together=True)
        jobs = plan.jobs()
        with counting("measuring") as report:
            seconds = estimates(jobs, plan.store, probe, report, remember=not options.dry_run)
    room = places(machine.get("backend", "cpu"), machine.get("devices", 1), options.at_once)
    lacking = missing([job.experiment.task for job in jobs], plan.data)
    say(described(plan, jobs, seconds, None if options.engine else len(room), lacking))
    if options.dry_run:
        return {}
    refused = _not_playable(jobs)
    failed_data = provide([task for task in lacking if task not in refused], plan.data, options.episodes)
    reasons = {job: refused.get(job.experiment.task) or failed_data.get(job.experiment.task.dataset, "") for job in jobs}
    able = [job for job, reason in reasons.items() if not reason]
    with SweepDisplay(able, seconds) as display, stopping_cleanly():
        failed = options.engine(able, display.report) if options.engine else run(able, display.report, room)
    unable = {str(job): reason for job, reason in reasons.items() if reason}
    return unable | {str(job): complaint for job, complaint in failed.items()}


def described(plan: Plan, jobs: Sequence[Job], seconds: dict[Job, float], at_once: int | None, lacking: Sequence[Task]) -> str:
    """The plan in words: how much there is to do, and about how long that takes."""
    wanted = len(plan.experiments) * len(plan.seeds)
    unable = len({cell.row for cell in plan.cells if cell.experiment is None})
    lines = [f"{plan.name}: {plan.title}"]
    lines.append(
        f"{len(plan.cells)} cells from {len(plan.experiments)} ways to train, {len(plan.seeds)} seeds each: {wanted} seeds in all"
    )
    lines.append(f"{plan.done()} seeds are done, {len(jobs)} runs are left to do; store: {plan.store}")
    if unable:
        lines.append(f"{unable} rows are not available: {next(cell.why_not for cell in plan.cells if cell.why_not)}")
    if jobs:
        lines.append(f"estimated: {_time(jobs, seconds, at_once)}")
    lines += [f"{task.dataset} is not here; it will be {'generated' if task.generator else 'fetched'} first" for task in lacking]
    return "\n".join(lines)


def _time(jobs: Sequence[Job], seconds: dict[Job, float], at_once: int | None) -> str:
    known, rest = sum(seconds.values()), len(jobs) - len(seconds)
    unknown = f", and {rest} runs that cannot be measured here" if rest else ""
    counted = "with evaluations at their longest and starting up left out"
    if at_once is None:
        return f"{duration(known)} of one core of this machine, {counted}{unknown}"
    longest = max([*seconds.values(), known / at_once])
    return f"{duration(longest)}, {at_once} at a time, {counted}{unknown}"


def _not_playable(jobs: Sequence[Job]) -> dict[Task, str]:
    """Tasks whose environment is not installed, with the reason."""
    refused = {}
    for task in dict.fromkeys(job.experiment.task for job in jobs):
        try:
            if task.check:
                task.check()
        except MvlError as error:
            refused[task] = str(error)
    return refused


@contextmanager
def stopping_cleanly() -> Iterator[None]:
    """SIGTERM is Ctrl-C; either ends with one sentence once the runs have saved."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError("stopped; what runs had is saved, and the same command goes on from there.") from None
    finally:
        signal.signal(signal.SIGTERM, before)
