"""A child process that measures times (see timing_process.py), so that this process never occupies a device."""

import json
import os
import subprocess
from functools import cached_property
from typing import Any, NamedTuple

from mvl.processes import python_module
from mvl.studies.process import one_core_environment


class Machine(NamedTuple):
    """What steps are computed on."""

    backend: str = "cpu"
    devices: int = 1
    device: str = "cpu"
    """Name of the kind of device."""
    rate: float = 0.0
    """Floating-point operations per second in matrix products, on one core of a CPU; 0 if unknown."""

    @property
    def is_cpu(self) -> bool:
        return self.backend == "cpu"


class Probe:
    """The measuring process, which runs within a `with` block."""

    def __enter__(self) -> "Probe":
        core = [str(min(os.sched_getaffinity(0)))] if hasattr(os, "sched_getaffinity") else []
        self.process = subprocess.Popen(
            python_module("mvl.studies.timing_process", *core, options=("-W", "ignore")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=one_core_environment(),
            text=True,
        )
        return self

    @cached_property
    def machine(self) -> Machine:
        """What the process says first; it takes about a second, since it loads JAX."""
        return Machine(**self._answer())

    def ask(self, **question: Any) -> dict[str, float]:
        """The answer to a question; empty if it cannot be measured on this machine."""
        assert self.process.stdin is not None
        assert self.machine  # its line comes before the answers
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # the process died at an earlier question
            return {}
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {}
        return answer

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
