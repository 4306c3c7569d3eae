"""Cases in which something else fails: no room on the disk, a folder that vanishes, a worker that dies, a second process."""

import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np

from attack.commands import Case, Place, end, leftovers, run, snapshot, start, train
from attack.kills import generate, import_demos, train_on


def full_disk(place: Place, random: np.random.Generator) -> list[str]:
    """A command that cannot write ends with a sentence, and when it can again, it ends with the same bytes."""
    words, room = ((train_on, 60_000), (generate, 150_000), (import_demos, 20_000))[random.integers(3)]
    whole, broken = place.own / "whole", place.own / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    found = run(words("whole", place), place.own).wrong(0)
    limited = run(words("broken", place), place.own, limit=int(random.integers(2_000, room)))
    found += limited.wrong(0, 1, 2)
    if limited.code:
        found += run(words("broken", place), place.own).wrong(0)
    return found + _different(whole, broken) + leftovers(place.own)


def removed_folder(place: Place, random: np.random.Generator) -> list[str]:
    """A training whose folder is removed ends with a sentence, or trains on; it never prints a traceback."""
    process = start(train(place.own / "run", place.shared), place.own)
    time.sleep(float(random.uniform(3.0, 8.0)))
    shutil.rmtree(place.own / "run", ignore_errors=True)
    return end(process).wrong(0, 1, 2)


def dead_worker(place: Place, random: np.random.Generator) -> list[str]:
    """An evaluation whose worker is killed starts another and gives the same result."""
    words = ["eval", str(place.shared / "run"), "--episodes", "4", "--workers", "1"]
    expected = run(words, place.own)
    process = start(words, place.own)
    until = time.monotonic() + 30
    while not place.killed and process.poll() is None and time.monotonic() < until:
        for child in children(process.pid):
            time.sleep(float(random.uniform(0.0, 0.3)))
            if _kill(child):
                place.killed.append("worker")
        time.sleep(0.02)
    got = end(process)
    same = got.out.splitlines()[-1:] == expected.out.splitlines()[-1:]
    return expected.wrong(0) + got.wrong(0) + ([] if same else [f"another result: {got.out[-200:]}"])


def two_processes(place: Place, random: np.random.Generator) -> list[str]:
    """Of two trainings in one folder one is refused, and the other ends as if it had been alone."""
    whole, shared = place.own / "whole", place.own / "both"
    found = run(train(whole, place.shared), place.own).wrong(0)
    words = train(shared, place.shared)
    first = start(words, place.own)
    time.sleep(float(random.uniform(0.0, 4.0)))
    second = start(words, place.own)
    ends = [end(first), end(second)]
    found += [text for one in ends for text in one.wrong(0, 1, 2)]
    if sorted(one.code == 0 for one in ends) != [False, True]:
        found.append(f"exit codes {[one.code for one in ends]}: exactly one should have been refused")
    return found + _different(whole, shared)


def children(parent: int) -> list[int]:
    """Processes that a process started."""
    try:
        return [int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    except OSError:
        return []


def _kill(process: int) -> bool:
    try:
        os.kill(process, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def _different(whole: Path, broken: Path) -> list[str]:
    before, after = snapshot(whole), snapshot(broken)
    return [f"{name} differs" for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]


CASES: dict[str, Case] = {
    "full disk": full_disk,
    "removed folder": removed_folder,
    "dead worker": dead_worker,
    "two processes": two_processes,
}
