"""Kills commands at random moments, starts them again, and compares what they wrote with what an undisturbed command wrote.

Every case draws its moments from a seed. A case fails if the files differ, if a command that was not killed prints a traceback
or hangs, or if a file outside its folder changed. `--to FILE.json` writes the counts that docs/reliability.md shows.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from attack import faults, kills
from attack.commands import Case, Place, prepare, snapshot


class Count(NamedTuple):
    """How often something was tried, and what came of it."""

    name: str
    tried: int
    failures: list[str]
    seconds: float


CASES: dict[str, Case] = {**kills.CASES, **faults.CASES}


def attack(name: str, times: int, shared: Path, until: float, seed: int) -> Count:
    """Try a case several times, each in a folder of its own; stops early when the time is over."""
    failures, began, tried = [], time.monotonic(), 0
    before = snapshot(shared)
    for number in range(times):
        if time.monotonic() > until:
            break
        with tempfile.TemporaryDirectory(prefix="mvl-soak-") as folder:
            found = CASES[name](Place(Path(folder), shared), np.random.default_rng([seed, number]))
        tried += 1
        failures += [f"{name} {number}: {text}" for text in found]
        print(f"\r{name}: {tried}/{times}, {len(failures)} failures   ", end="", file=sys.stderr, flush=True)
    if snapshot(shared) != before:
        failures.append(f"{name}: a file outside its folder changed")
    print(file=sys.stderr)
    return Count(name, tried, failures, round(time.monotonic() - began, 1))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=2, help="how often each case is tried")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no case after this time")
    parser.add_argument("--only", nargs="+", default=list(CASES), choices=list(CASES), metavar="CASE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--to", type=Path, help="file for the counts")
    options = parser.parse_args(argv)
    shared = Path(tempfile.mkdtemp(prefix="mvl-soak-shared-"))
    try:
        prepare(shared)
        until = time.monotonic() + 60 * options.minutes
        counts = [attack(name, options.times, shared, until, options.seed) for name in options.only]
    finally:
        shutil.rmtree(shared)
    for count in counts:
        print(f"{count.name:20} {count.tried:4} tried, {len(count.failures)} failed, {count.seconds:.0f} s")
        print("".join(f"  {text}\n" for text in count.failures), end="")
    if options.to:
        rows = [{"case": count.name, "tried": count.tried, "failed": len(count.failures)} for count in counts]
        options.to.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(count.failures for count in counts))


if __name__ == "__main__":
    sys.exit(main())
