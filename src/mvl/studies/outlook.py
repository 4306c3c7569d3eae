"""What is left to do of a plan and how long it takes: guessed at once, then measured."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from mvl.errors import StoppedError
from mvl.runs.display import counting
from mvl.studies.display import duration
from mvl.studies.engines.local import places
from mvl.studies.job import Job
from mvl.studies.plan import Plan
from mvl.studies.probe import Probe
from mvl.studies.timing import Estimate, Estimator, finished_times, remaining_times
from mvl.tasks.datasets import missing


class Outlook:
    """The jobs that are left of a plan, and how long they take."""

    def __init__(self, plan: Plan, jobs: list[Job], probe: Probe, at_once: int | None, on_engine: bool) -> None:
        """`at_once` runs are made at a time on this machine, by default one per core or device; `on_engine`: elsewhere."""
        machine = probe.machine
        if not (machine.is_cpu or on_engine or plan.together):
            plan = replace(plan, together=True)
            jobs = plan.jobs()
        self.plan, self.jobs, self.probe = plan, jobs, probe
        self.places = [] if on_engine else places(machine.backend, machine.devices, at_once)
        self.without_data = missing([job.experiment.task for job in jobs], plan.data)
        self.estimator = Estimator(machine, plan.data)
        self.finished = finished_times(jobs, plan.store)

    def times(self) -> dict[Job, Estimate]:
        """The time that each job still takes; jobs about which nothing is known are left out."""
        return remaining_times(self.jobs, self.finished, self.estimator)

    def refine(self, report: Callable[[str], None]) -> None:
        """Measure what is guessed, and report the new estimate; Ctrl-C keeps what was measured until then."""
        questions = self.estimator.questions(job.experiment for job in self.jobs if job.run.parent not in self.finished)
        if not questions:
            return
        try:
            with counting("measuring") as progress:
                for index, question in enumerate(questions):
                    progress(index, len(questions), f"so far {duration(self.seconds(self.times()))}")
                    self.estimator.measure(question, self.probe)
                progress(len(questions), len(questions))
        except KeyboardInterrupt:
            raise StoppedError("stopped; the times measured so far are kept, and the same command measures the rest.") from None
        report(self.estimate())

    def seconds(self, times: Mapping[Job, Estimate]) -> float:
        """Seconds until all runs are done on this machine; with an engine, the time of one core."""
        each = [time.seconds for time in times.values()]
        return max([*each, sum(each) / len(self.places)]) if self.places and each else sum(each)

    def estimate(self) -> str:
        """The estimated time as one line."""
        times = self.times()
        guessed, unknown = sum(time.guessed for time in times.values()), len(self.jobs) - len(times)
        where = f", {len(self.places)} runs at a time" if self.places else " on one core of this machine"
        guess = f" (a guess for {guessed} of {len(self.jobs)} runs)" if guessed else ""
        rest = f", and {unknown} runs whose time is not known" if unknown else ""
        counted = "assuming evaluation episodes of full length, without start-up"
        return f"estimated: {duration(self.seconds(times))}{guess}{where}, {counted}{rest}"

    def summary(self) -> str:
        """The plan, the estimated time, and the datasets that are made first."""
        made = (
            f"{task.dataset} is missing; it will be {'generated' if task.generator else 'downloaded'} first"
            for task in self.without_data
        )
        return "\n".join([summary(self.plan, len(self.jobs)), self.estimate(), *made])


@contextmanager
def outlook(plan: Plan, report: Callable[[str], None], at_once: int | None, on_engine: bool) -> Iterator[Outlook | None]:
    """Yields what is left to do, after reporting a summary, for which nothing is measured; None if nothing is left."""
    with Probe() as probe:  # it starts while the store is read
        jobs = plan.jobs()
        found = Outlook(plan, jobs, probe, at_once, on_engine) if jobs else None
        report(found.summary() if found else summary(plan, 0))
        yield found


def summary(plan: Plan, left: int) -> str:
    """The plan as text: how many seeds are done, and how many runs are left."""
    wanted = len(plan.experiments) * len(plan.seeds)
    lines = [f"{plan.name}: {plan.title}"]
    lines.append(
        f"{len(plan.cells)} cells from {len(plan.experiments)} experiments, {len(plan.seeds)} seeds each: {wanted} seeds in total"
    )
    lines.append(f"{plan.done()} seeds are done, {left} runs are left to do; store: {plan.store}")
    return "\n".join(lines)
