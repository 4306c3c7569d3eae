"""A training process that ends when its parent process ends: `python -m mvl.studies.process CORE CLOCK COMMAND...`.

Its standard input is a pipe that nobody writes to; the pipe closes when the parent ends, even if it is killed.
This module does not import JAX, so that processes that only wait for such a child use little memory.
"""

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mvl.files import append_line, open_unlinked, refuse_links
from mvl.processes import python_module


class JobSpec(NamedTuple):
    """A job as plain strings, which can be sent to another process or machine; a run that exists is continued."""

    run: str
    command: tuple[str, ...]
    """Arguments of `mvl` that train a new run."""
    log: str
    clock: str
    own_code: tuple[str, ...] = ()
    """Flags that name the user's own parts and environment, needed to continue a run."""


def start(job: JobSpec, core: str = "any", device: int | None = None) -> "subprocess.Popen[bytes]":
    """Start training in a new session, so that Ctrl-C reaches the child only once, through its parent."""
    Path(job.run).parent.mkdir(parents=True, exist_ok=True)
    exists = (Path(job.run) / "run.json").exists()
    command = ("train", "--resume", job.run, "--workers", "1", *job.own_code) if exists else job.command
    chosen = {} if device is None else {"CUDA_VISIBLE_DEVICES": str(device)}
    refuse_links(Path(job.log), Path(job.clock))
    with open_unlinked(Path(job.log), "ab") as log:
        return subprocess.Popen(
            python_module("mvl.studies.process", core, job.clock, *command),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**one_core_environment(), **chosen},
            start_new_session=True,
        )


def stop(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
    """Ask processes to save and end, and wait for them; if the waiting is interrupted, kill them."""
    for process in processes:
        process.send_signal(signal.SIGINT)
    try:
        for process in processes:
            exit_code(process)
    except BaseException:
        for process in processes:
            process.kill()
        raise


def exit_code(process: "subprocess.Popen[bytes]") -> int:
    """Wait for a process and return its exit code; its pipe is closed only then, since closing it ends the process."""
    code = process.wait()
    assert process.stdin is not None
    process.stdin.close()
    return code


class KilledError(Exception):
    """The training process was killed by a signal, so the job may be tried again."""


def train(job: JobSpec, started_in: str | None = None) -> int:
    """Train in a child process and return its exit code; if this is interrupted, the child saves a checkpoint first.

    `started_in` is the folder in which Ray was started: Ray adds it to the import path of its workers, this removes it.
    """
    if started_in in sys.path:
        sys.path.remove(started_in)
    process = start(job)
    try:
        code = exit_code(process)
    except BaseException:
        stop([process])
        raise
    if code < 0:
        raise KilledError(f"killed by signal {-code}")
    return code


def one_core_environment() -> dict[str, str]:
    """Environment variables of a process that has one core: more threads would only wait for each other."""
    given = os.environ.get("XLA_FLAGS", "")
    one = "--xla_cpu_multi_thread_eigen=false"
    flags = given if one in given else f"{given} {one}".strip()
    return {**os.environ, "XLA_FLAGS": flags, "NPROC": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _exit_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock this thread would still hold when the interpreter exits
        pass
    os._exit(1)


def _log_time(clock: str, event: str) -> None:
    with suppress(OSError):  # training continues without this log
        append_line(Path(clock), json.dumps({"event": event, "time": round(time.time(), 1)}))


def main(core: str, clock: str, *command: str) -> None:
    if core != "any" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    sys.argv = ["mvl", *command]
    _log_time(clock, "began")
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        runpy.run_module("mvl", run_name="__main__", alter_sys=True)
    finally:
        _log_time(clock, "ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
