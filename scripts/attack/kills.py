"""Cases that kill a command several times at random moments, let it end, and compare its files with an undisturbed one's."""

import contextlib
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from attack.commands import TASK, TINY, Case, Place, kill, leftovers, run, run_killed, snapshot, start, train

KILLS = 3
"""Per case."""


def interrupted(words: Callable[[str, Place], list[str]], place: Place, random: np.random.Generator) -> list[str]:
    """Kill the command for folder `broken` at any time of its work, again and again, then compare with folder `whole`."""
    whole, broken = place.own / "whole", place.own / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    began = time.monotonic()
    undisturbed = run(words("whole", place), place.own)
    seconds = max(1.0, time.monotonic() - began)
    for _ in range(KILLS):
        alone = bool(random.integers(2))
        if not run_killed(words("broken", place), place, float(random.uniform(0.2, seconds)), only_it=alone):
            break
    found = undisturbed.wrong(0)
    before, after = snapshot(whole), snapshot(broken)
    if after != before:  # a command that was killed after its end would refuse to write the same files again
        found += run(words("broken", place), place.own).wrong(0) + leftovers(place.own)
        after = snapshot(broken)
    found += [f"{name} differs" for name in before if after.get(name) != before[name]]
    return found + [f"{name} is left over" for name in after if name not in before]


def train_on(to: str, place: Place) -> list[str]:
    return train(place.own / to / "run", place.shared)


def generate(to: str, place: Place) -> list[str]:
    return ["data", "generate", TASK, "--episodes", "6", "--data", str(place.own / to)]


def import_demos(to: str, place: Place) -> list[str]:
    columns = ["--observations", "x", "y", "--actions", "u", "v", "--rescale"]
    return ["data", "import", str(place.shared / "demos"), "--to", str(place.own / to / "mine.npz"), *columns, "--overwrite"]


def _study(kind: list[str], to: str, place: Place) -> list[str]:
    where = ["--store", str(place.own / to), "--data", str(place.shared / "data"), "--seeds", "1", "--at-once", "2"]
    return [*kind, *where, "--", *TINY]


def evaluation(place: Place, random: np.random.Generator) -> list[str]:
    """An evaluation that is killed leaves the run as it was."""
    before = snapshot(place.shared)
    words = ["eval", str(place.shared / "run"), "--episodes", "2"]
    for _ in range(KILLS):
        run_killed(words, place, float(random.uniform(0.2, 6.0)))
    found = run(words, place.own).wrong(0)
    return found + (["the run changed"] if snapshot(place.shared) != before else []) + leftovers(place.own)


def served(place: Place, random: np.random.Generator) -> list[str]:
    """A server that is killed answers after its next start as before, and a robot that is killed does not disturb it."""
    port = str(20_000 + int(random.integers(20_000)))
    address = f"ws://127.0.0.1:{port}"
    drive = ["robot", "run", "--robot", f"sim:{TASK}", "--server", address, "--seconds", "1", "--hz", "10"]
    found, logs = [], []
    for attempt in range(2):
        server = start(["serve", str(place.shared / "run"), "--port", port], place.own)
        try:
            wait_for(int(port))
            run_killed(drive, place, float(random.uniform(0.5, 4.0)))
            log = place.own / f"log{attempt}.npz"
            found += run([*drive, "--record", str(log)], place.own).wrong(0)
            logs.append(_first_action(log) if log.exists() else None)
        finally:
            kill(server)
            place.killed.append("serve")
    first, second = logs
    same = first is not None and second is not None and np.array_equal(first, second)
    return found + ([] if same else ["the server answers differently after a kill"])


def _first_action(log: Path) -> np.ndarray:
    """The first action of a recording; before it the robot was held, where actions are NaN."""
    actions = np.load(log)["action"]
    first: np.ndarray = actions[~np.isnan(actions).any(axis=1)][:1]
    return first


def wait_for(port: int, seconds: float = 60.0) -> None:
    """Wait until a server listens at a port."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.1)


SWEEP = ["sweep", "--tasks", TASK, "--recipes", "gcivl", "bc"]
REPRODUCE = ["reproduce", "table1", "--rows", "pointmaze-medium", "--columns", "ORIG"]
CASES: dict[str, Case] = {
    "train": partial(interrupted, train_on),
    "generate": partial(interrupted, generate),
    "import": partial(interrupted, import_demos),
    "sweep": partial(interrupted, partial(_study, SWEEP)),
    "reproduce": partial(interrupted, partial(_study, REPRODUCE)),
    "eval": evaluation,
    "serve and robot": served,
}
