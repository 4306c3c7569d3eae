"""Runs on this machine: a process for each, one per core or device at a time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mvl.sweep.child import surroundings
from mvl.sweep.job import Job
from mvl.sweep.store import is_done

Report = Callable[[Sequence[Job], dict[Job, str]], None]
"""Called about every second with the jobs that are running and what became of those that ended: nothing, or a complaint."""

PAUSE = 0.5


@dataclass(frozen=True)
class Slot:
    """Room for one run: a core, or a device."""

    core: str = "any"
    device: int | None = None


def slots(backend: str, devices: int, at_once: int | None) -> list[Slot]:
    """One per core of a CPU, else one per device; more at once share devices, and are not pinned."""
    if backend != "cpu":
        return [Slot(device=index % devices) for index in range(at_once or devices)]
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    return [Slot(core=str(core)) for core in cores[: at_once or len(cores)]]


def run(jobs: Sequence[Job], report: Report, room: Sequence[Slot]) -> dict[Job, str]:
    """Do the jobs; one that fails does not stop the others. Ctrl-C lets those that run save what they have."""
    waiting, free = list(jobs), list(room)
    running: dict[Job, tuple[subprocess.Popen[bytes], Slot]] = {}
    ended: dict[Job, str] = {}
    try:
        while waiting or running:
            while waiting and free:
                job, slot = waiting.pop(0), free.pop(0)
                running[job] = start(job, slot), slot
            for job, (process, slot) in list(running.items()):
                if process.poll() is not None:
                    del running[job]
                    free.append(slot)
                    ended[job] = verdict(job, process.returncode)
            report(list(running), ended)
            if running:
                time.sleep(PAUSE)
    finally:
        stop([process for process, _ in running.values()])
    return {job: complaint for job, complaint in ended.items() if complaint}


def start(job: Job, slot: Slot) -> "subprocess.Popen[bytes]":
    """A process of its own session: Ctrl-C reaches it through us alone, once."""
    job.run.parent.mkdir(parents=True, exist_ok=True)
    device = {} if slot.device is None else {"CUDA_VISIBLE_DEVICES": str(slot.device)}
    environment = surroundings() if slot.device is None else {**os.environ, **device}
    command = [sys.executable, "-m", "mvl.sweep.child", slot.core, str(job.clock), *job.command()]
    with open(job.log, "ab") as log:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, start_new_session=True)


def stop(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
    """Ask them to save and end, and wait; asked twice, end them."""
    for process in processes:
        process.send_signal(signal.SIGINT)
    try:
        for process in processes:
            process.wait()
    except BaseException:
        for process in processes:
            process.kill()
        raise


def verdict(job: Job, code: int | None) -> str:
    """Nothing if the job is done, else the last words of its log."""
    if code == 0 and is_done(job.run, job.variant.schedule.steps, job.seeds):
        return ""
    lines = [line for line in job.log.read_text(errors="replace").splitlines() if line.strip()] if job.log.exists() else []
    last: Any = lines[-1] if lines else "it said nothing"
    return f"ended with code {code} ({last[:300]}); see {job.log}"
