"""Runs on this machine: a process for each, one per core or device at a time."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mvl.errors import MvlError
from mvl.learn.spread import core_numbers
from mvl.sweep.child import begin, finished, stop
from mvl.sweep.engines import Report, verdict
from mvl.sweep.job import Job

PAUSE = 0.5


@dataclass(frozen=True)
class Slot:
    """Room for one run: a core, or a device."""

    core: str = "any"
    device: int | None = None


def slots(backend: str, devices: int, at_once: int | None) -> list[Slot]:
    """One per core of a CPU, else one per device, which more at once would share."""
    if backend != "cpu":
        return [Slot(device=index % devices) for index in range(at_once or devices)]
    cores = core_numbers()
    return [Slot(core=str(cores[index % len(cores)])) for index in range(at_once or len(cores))]


def run(jobs: Sequence[Job], report: Report, room: Sequence[Slot]) -> dict[Job, str]:
    """Ctrl-C lets those that run save what they have."""
    waiting, free = list(jobs), list(room)
    running: dict[Job, tuple[subprocess.Popen[bytes], Slot]] = {}
    ended: dict[Job, str] = {}
    try:
        while waiting or running:
            while waiting and free:
                job, slot = waiting.pop(0), free.pop(0)
                try:
                    running[job] = begin(job.order(), slot.core, slot.device), slot
                except (MvlError, OSError) as error:
                    ended[job] = f"could not be started: {error}"
                    free.append(slot)
            for job, (process, slot) in list(running.items()):
                if process.poll() is not None:
                    del running[job]
                    free.append(slot)
                    ended[job] = verdict(job, finished(process))
            report(list(running), ended)
            if running:
                time.sleep(PAUSE)
    finally:
        stop([process for process, _ in running.values()])
    return {job: complaint for job, complaint in ended.items() if complaint}
