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
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from attack import faults, kills
from attack.commands import Case, Place, prepare, snapshot


@dataclass
class Count:
    """How often a case was tried, how many processes were killed, and what came of it."""

    case: str
    tried: int = 0
    kills: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        found = "".join(f"\n  {text}" for text in self.failures)
        return f"{self.case:20} {self.tried:4} tried, {self.kills:3} kills, {len(self.failures)} failed{found}"


CASES: dict[str, Case] = {**kills.CASES, **faults.CASES}


def attack(count: Count, shared: Path, seed: int) -> None:
    """Try a case once more, in a folder of its own."""
    before = snapshot(shared)
    with tempfile.TemporaryDirectory(prefix="mvl-soak-") as folder:
        place = Place(Path(folder), shared, [])
        found = CASES[count.case](place, np.random.default_rng([seed, count.tried]))
    found += ["a file outside its folder changed"] if snapshot(shared) != before else []
    count.failures += [f"{count.tried}: {text}" for text in found]
    count.tried += 1
    count.kills += len(place.killed)
    print(count, file=sys.stderr, flush=True)


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
        counts = [Count(name) for name in options.only]
        for one in counts * options.times:
            if time.monotonic() < until:
                attack(one, shared, options.seed)
    finally:
        shutil.rmtree(shared)
    print(*counts, sep="\n")
    if options.to:
        rows = [{"case": one.case, "tried": one.tried, "kills": one.kills, "failed": len(one.failures)} for one in counts]
        options.to.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(count.failures for count in counts))


if __name__ == "__main__":
    sys.exit(main())
