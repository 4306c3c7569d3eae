"""A training process that ends when whoever started it does: `python -m mvl.studies.process CORE CLOCK COMMAND...`.

Its standard input is a pipe nobody writes to; the pipe closes when the other end is gone, however that came about.
Nothing here needs JAX, so the processes that only wait for such a child stay small.
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


class Order(NamedTuple):
    """A job in plain words, for another process or machine; a run that is there already is continued."""

    run: str
    command: tuple[str, ...]
    """Of `mvl`, if the run is new."""
    log: str
    clock: str
    own_code: tuple[str, ...] = ()
    """Flags that name the caller's own parts and environment, to continue a run with."""


def begin(order: Order, core: str = "any", device: int | None = None) -> "subprocess.Popen[bytes]":
    """In a session of its own: Ctrl-C reaches it through its starter alone, once."""
    Path(order.run).parent.mkdir(parents=True, exist_ok=True)
    there = (Path(order.run) / "run.json").exists()
    command = ("train", "--resume", order.run, "--workers", "1", *order.own_code) if there else order.command
    chosen = {} if device is None else {"CUDA_VISIBLE_DEVICES": str(device)}
    refuse_links(Path(order.log), Path(order.clock))
    with open_unlinked(Path(order.log), "ab") as log:
        return subprocess.Popen(
            python_module("mvl.studies.process", core, order.clock, *command),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**surroundings(), **chosen},
            start_new_session=True,
        )


def stop(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
    """Ask them to save and end, and wait; if that is interrupted, end them."""
    for process in processes:
        process.send_signal(signal.SIGINT)
    try:
        for process in processes:
            finished(process)
    except BaseException:
        for process in processes:
            process.kill()
        raise


def finished(process: "subprocess.Popen[bytes]") -> int:
    """Its exit code, once it has ended; only then is the pipe closed that keeps it going."""
    code = process.wait()
    assert process.stdin is not None
    process.stdin.close()
    return code


class KilledError(Exception):
    """The training process was killed from outside, which says nothing against trying again."""


def train(order: Order, started_in: str | None = None) -> int:
    """The exit code of the process that does it; if this is interrupted, that one saves what it has.

    `started_in` is the folder in which Ray was started, which it puts on the import path of its workers.
    """
    if started_in in sys.path:
        sys.path.remove(started_in)
    process = begin(order)
    try:
        code = finished(process)
    except BaseException:
        stop([process])
        raise
    if code < 0:
        raise KilledError(f"killed by signal {-code}")
    return code


def surroundings() -> dict[str, str]:
    """Of a process that has one core: more threads would only wait for each other."""
    given = os.environ.get("XLA_FLAGS", "")
    one = "--xla_cpu_multi_thread_eigen=false"
    flags = given if one in given else f"{given} {one}".strip()
    return {**os.environ, "XLA_FLAGS": flags, "NPROC": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _end_with_starter() -> None:
    while os.read(0, 1):  # not through sys.stdin, whose lock this thread would still hold at the end
        pass
    os._exit(1)


def _note(clock: str, event: str) -> None:
    with suppress(OSError):  # training goes on without it
        append_line(Path(clock), json.dumps({"event": event, "time": round(time.time(), 1)}))


def main(core: str, clock: str, *command: str) -> None:
    if core != "any" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    sys.argv = ["mvl", *command]
    _note(clock, "began")
    threading.Thread(target=_end_with_starter, daemon=True).start()
    try:
        runpy.run_module("mvl", run_name="__main__", alter_sys=True)
    finally:
        _note(clock, "ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
