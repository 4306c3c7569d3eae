"""The commands under attack, at sizes that take seconds, and how they are started, killed and compared."""

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

TASK = "pointmaze-medium-navigate-v0"
TINY = [
    *("--steps", "200", "--steps-per-dispatch", "10", "--eval-every", "100", "--log-every", "50", "--save-every", "50"),
    *("--eval-episodes", "1", "--batch-size", "16", "--value.widths", "8", "--policy.widths", "8", "--plan", "none"),
]
TEMPORARY = "temporary"
"""Folder of a case for temporary files."""
PATIENCE = 300.0
"""Seconds after which a command hangs."""


class Place(NamedTuple):
    """Where a case works: its own folder, and one with data and a trained run that no case may change."""

    own: Path
    shared: Path
    killed: list[str]
    """Commands and workers that were killed so far."""


Case = Callable[[Place, np.random.Generator], list[str]]
"""Does something in a fresh folder, and returns what went wrong."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str

    def wrong(self, *codes: int) -> list[str]:
        """What is wrong with it, unless it ended with one of the codes."""
        found = [f"exit code {self.code}: {self.out[-300:]}"] if self.code not in codes else []
        return found + (["a traceback: " + self.out[-600:]] if "Traceback" in self.out else [])


def prepare(shared: Path) -> None:
    """Write the data, demonstrations and the run that cases use."""
    done = run(["data", "generate", TASK, "--episodes", "6", "--data", str(shared / "data")], shared)
    done = done if done.code else run(train(shared / "run", shared), shared)
    if done.code:
        sys.exit(f"the commands do not even work undisturbed: {done.out}")
    demos = shared / "demos"
    demos.mkdir()
    random = np.random.default_rng(0)
    for episode in range(12):
        rows = np.cumsum(random.normal(size=(40, 2)), axis=0)
        lines = ["x,y,u,v", *(",".join(f"{value:.5f}" for value in (*row, *random.uniform(-1, 1, 2))) for row in rows)]
        (demos / f"episode_{episode:02}.csv").write_text("\n".join(lines) + "\n")


def train(to: Path, shared: Path) -> list[str]:
    """Words of a training, or of its continuation if it has begun."""
    if (to / "run.json").exists():
        return ["train", "--resume", str(to)]
    return ["train", TASK, "--recipe", "gcivl-mvl", "--data", str(shared / "data"), "--run", str(to), "--workers", "1", *TINY]


def start(words: list[str], folder: Path, limit: int | None = None) -> subprocess.Popen[str]:
    """Start a command in a process group of its own; with `limit`, no file may become larger than so many bytes."""
    program = [sys.executable, "-m", "mvl", *words]
    if limit is not None:
        program = ["bash", "-c", f"trap '' XFSZ; ulimit -f {max(1, limit // 1024)}; exec \"$@\"", "mvl", *program]
    temporary = folder / TEMPORARY
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        program, cwd=folder, env={**os.environ, "TMPDIR": str(temporary)}, start_new_session=True,
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def end(process: subprocess.Popen[str]) -> Ended:
    """Wait for a command; one that hangs is killed and has exit code 124."""
    try:
        out, _ = process.communicate(timeout=PATIENCE)
        return Ended(process.returncode, out)
    except subprocess.TimeoutExpired:
        kill(process)
        return Ended(124, "it hangs")


def run(words: list[str], folder: Path, limit: int | None = None) -> Ended:
    return end(start(words, folder, limit))


def kill(process: subprocess.Popen[str], only_it: bool = False) -> None:
    """Kill a command, with all processes that it started or alone; then what remains has to end by itself."""
    with contextlib.suppress(ProcessLookupError):
        if only_it:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def run_killed(words: list[str], place: Place, seconds: float, only_it: bool = False) -> bool:
    """Start a command and kill it after so many seconds; returns if it was still running then."""
    process = start(words, place.own)
    try:
        process.communicate(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        kill(process, only_it)
        place.killed.append(words[0])
        time.sleep(1.0 if only_it else 0.0)
        return True


def leftovers(folder: Path) -> list[str]:
    """What commands in a folder have left among temporary files, though the last one ended by itself."""
    found = sorted(path.name for path in (folder / TEMPORARY).glob("*"))
    return [f"{name} is left among temporary files" for name in found]


def snapshot(folder: Path) -> dict[str, str]:
    """Checksums of all files in a folder by their path, without clocks: times and logs of a run differ each time."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    kept = [path for path in files if path.name not in CLOCKS and path.suffix not in (".log", ".png")]
    return {str(path.relative_to(folder)): _checksum(path) for path in kept if ".clock." not in path.name}


CLOCKS = ("timing.jsonl", "timing.json", "run.json")
"""Files that hold times, or paths of the folder they are in."""


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
