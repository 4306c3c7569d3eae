"""Damages what mvl reads, at random: each case has to be accepted, or refused in one sentence.

Targets are files of every layout that can be imported, run folders, lines of records, frames that a policy server gets, and
descriptions of experiments. Cases run in child processes, so that a crash of a library or a hang is noticed, too.
The same seed gives the same cases; `--case` repeats one of them with its message.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

TARGETS = ("imports", "runs", "records", "frames", "experiments")
PATIENCE = 20
"""Seconds after which a case is a hang; the machine may be busy."""
SHARED = 100
"""Cases per child process."""
MEMORY = 2**30
"""Bytes of memory that a child may use more than it has at the start; what a file claims beyond that fails at once."""
GOOD = ("accepted", "refused")
Case = Callable[[int], str]
"""Number of a case -> its outcome."""


def run_cases(numbers: list[int], case: Case, scratch: Path) -> dict[int, str]:
    """Outcomes of cases in a child process; after a crash or a hang, the rest runs in another one."""
    results = scratch / "results"
    results.write_text("")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # JAX's threads: children do not compute
        child = os.fork()
    if child == 0:
        _child(numbers, case, results)
    status = os.waitpid(child, 0)[1]
    lines = results.read_text().split("\0")[:-1]
    found = {int(line.partition(" ")[0]): line.partition(" ")[2] for line in lines}
    left = [number for number in numbers if number not in found]
    if left:
        how = "a hang" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM else f"a crash (status {status})"
        found[left[0]] = how
        shutil.rmtree(scratch / str(left[0]), ignore_errors=True)
        if left[1:]:
            found |= run_cases(left[1:], case, scratch)
    return found


def _child(numbers: list[int], case: Case, results: Path) -> None:
    """Run cases and write their outcomes; never returns."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    warnings.simplefilter("ignore")
    with open(results, "a") as file:
        for number in numbers:
            signal.alarm(PATIENCE)  # its default action ends the process, even within a library
            file.write(f"{number} {case(number)}\0")
            file.flush()
    os._exit(0)


def attack(name: str, count: int, seed: int, only: int | None = None) -> dict[int, str]:
    """Outcomes of so many cases of a target; `only` one of them, in this process."""
    target: Any = import_module(f"attack.{name}")
    with tempfile.TemporaryDirectory(prefix="mvl-fuzz-") as place:
        written, scratch = Path(place) / "written", Path(place) / "scratch"
        written.mkdir()
        scratch.mkdir()
        target.write(written)
        case: Case = lambda number: target.case(number, np.random.default_rng([seed, number]), written, scratch)
        if only is not None:
            return {only: case(only)}
        found: dict[int, str] = {}
        for first in range(0, count, SHARED):
            found |= run_cases(list(range(first, min(first + SHARED, count))), case, scratch)
            print(f"\r{name}: {len(found)}/{count}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(TARGETS), choices=TARGETS, metavar="TARGET")
    parser.add_argument("--count", type=int, default=1000, help="cases per target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="repeat this case of the one target, in this process")
    parser.add_argument("--to", type=Path, help="file for the counts, in which other targets keep theirs")
    options = parser.parse_args(argv)
    rows, began = [], time.monotonic()
    for name in options.only:
        found = attack(name, options.count, options.seed, options.case)
        for number, outcome in sorted(found.items()):
            if outcome not in GOOD or options.case is not None:
                print(f"{name}, case {number}: {outcome}")
        counts = Counter(outcome if outcome in GOOD else "wrong" for outcome in found.values())
        rows.append({"target": name, **{kind: counts[kind] for kind in (*GOOD, "wrong")}})
        print(f"{name:<14}" + "".join(f"{kind:>12} {counts[kind]}" for kind in (*GOOD, "wrong")))
    print(f"{time.monotonic() - began:.0f} s")
    if options.to:
        others = json.loads(options.to.read_text()) if options.to.exists() else []
        kept = {row["target"]: row for row in [*others, *rows]}
        options.to.write_text(json.dumps([kept[name] for name in TARGETS if name in kept], indent=1) + "\n")
    return int(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
