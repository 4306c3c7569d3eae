"""Checks XLA_FLAGS before JAX uses it: XLA ends the process, without an exception, if it does not know a flag."""

import os
import re
import subprocess
import sys
from importlib.metadata import version

from mvl.errors import MvlError


def rejection_reason(flags: str) -> str:
    """Why the installed jaxlib rejects these flags; empty if it accepts them. Takes a second, in a child process."""
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", "import jax; jax.devices()"], env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    logged = re.search(r"^[EF]\d{4} .*?\] (.*)$", done.stderr, re.M)  # the first error or fatal line of XLA's log
    return logged[1] if logged else (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def check_flags() -> None:
    """Raise if XLA_FLAGS is set to something this jaxlib does not accept."""
    flags = os.environ.get("XLA_FLAGS", "")
    if flags and (reason := rejection_reason(flags)):
        reason = reason.rstrip(".").replace(" in XLA_FLAGS", "")
        raise MvlError(f"XLA_FLAGS is not accepted by jaxlib {version('jaxlib')} ({reason}); correct it, or unset it.")
