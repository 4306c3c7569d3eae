"""A training process that ends when whoever started it does: `python -m mvl.sweep.child CORE CLOCK COMMAND...`.

Its standard input is a pipe nobody writes to; the pipe closes when the other end is gone, however that came about.
"""

import json
import os
import runpy
import sys
import threading
import time


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
    with open(clock, "a") as file:
        file.write(json.dumps({"event": event, "time": round(time.time(), 1)}) + "\n")


def main(core: str, clock: str, *command: str) -> None:
    threading.Thread(target=_end_with_starter, daemon=True).start()
    if core != "any" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    sys.argv = ["mvl", *command]
    _note(clock, "began")
    try:
        runpy.run_module("mvl", run_name="__main__", alter_sys=True)
    finally:
        _note(clock, "ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
