"""Jobs as processes of this machine, one per core or device at a time."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mvl.errors import MvlError
from mvl.machine import core_numbers
from mvl.studies.engines import Report, failure_reason
from mvl.studies.job import Job
from mvl.studies.process import exit_code, start, stop

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Place:
    """Where one run computes: a core or a device."""

    core: str = "any"
    device: int | None = None


def places(backend: str, devices: int, at_once: int | None) -> list[Place]:
    """Places for `at_once` runs: one per core on a CPU, else one per device; more runs than that share cores or devices."""
    if backend != "cpu":
        return [Place(device=index % devices) for index in range(at_once or devices)]
    cores = core_numbers()
    return [Place(core=str(cores[index % len(cores)])) for index in range(at_once or len(cores))]


def run(jobs: Sequence[Job], report: Report, free_places: Sequence[Place]) -> dict[Job, str]:
    """Run the jobs and return those that failed, each with the reason; on Ctrl-C running jobs save a checkpoint first."""
    waiting, free = list(jobs), list(free_places)
    running: dict[Job, tuple[subprocess.Popen[bytes], Place]] = {}
    ended: dict[Job, str] = {}
    try:
        while waiting or running:
            while waiting and free:
                job, place = waiting.pop(0), free.pop(0)
                try:
                    running[job] = start(job.spec(), place.core, place.device), place
                except (MvlError, OSError) as error:
                    ended[job] = f"could not be started: {error}"
                    free.append(place)
            for job, (process, place) in list(running.items()):
                if process.poll() is not None:
                    del running[job]
                    free.append(place)
                    ended[job] = failure_reason(job, exit_code(process))
            report(list(running), ended)
            if running:
                time.sleep(POLL_SECONDS)
    finally:
        stop([process for process, _ in running.values()])
    return {job: reason for job, reason in ended.items() if reason}
