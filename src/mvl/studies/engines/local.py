"""Runs on this machine: a process for each, one per core or device at a time."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mvl.errors import MvlError
from mvl.machine import core_numbers
from mvl.studies.engines import Report, verdict
from mvl.studies.job import Job
from mvl.studies.process import begin, finished, stop

PAUSE = 0.5


@dataclass(frozen=True)
class Place:
    """Room for one run: a core, or a device."""

    core: str = "any"
    device: int | None = None


def places(backend: str, devices: int, at_once: int | None) -> list[Place]:
    """One per core of a CPU, else one per device, which more at once would share."""
    if backend != "cpu":
        return [Place(device=index % devices) for index in range(at_once or devices)]
    cores = core_numbers()
    return [Place(core=str(cores[index % len(cores)])) for index in range(at_once or len(cores))]


def run(jobs: Sequence[Job], report: Report, room: Sequence[Place]) -> dict[Job, str]:
    """Ctrl-C lets those that run save what they have."""
    waiting, free = list(jobs), list(room)
    running: dict[Job, tuple[subprocess.Popen[bytes], Place]] = {}
    ended: dict[Job, str] = {}
    try:
        while waiting or running:
            while waiting and free:
                job, place = waiting.pop(0), free.pop(0)
                try:
                    running[job] = begin(job.order(), place.core, place.device), place
                except (MvlError, OSError) as error:
                    ended[job] = f"could not be started: {error}"
                    free.append(place)
            for job, (process, place) in list(running.items()):
                if process.poll() is not None:
                    del running[job]
                    free.append(place)
                    ended[job] = verdict(job, finished(process))
            report(list(running), ended)
            if running:
                time.sleep(PAUSE)
    finally:
        stop([process for process, _ in running.values()])
    return {job: complaint for job, complaint in ended.items() if complaint}
