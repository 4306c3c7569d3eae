"""Damages files of every layout at random and imports them: each has to be imported, or refused in one sentence.

Cases run in child processes, so that a crash of a library or a hang is noticed and counted, too. The same seed gives the
same cases; `--case` repeats one of them with its message.
"""

import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.imports.importing import import_data
from mvl.data.sources.episodes import Clock, ColumnNames
from mvl.errors import MvlError

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

TABLE = ColumnNames(observations=("q0", "q1"), actions=("u*",), time="t")
STREAMS = ColumnNames(("joint_states/position_*",), ("cmd/velocity_*",), clock=Clock(20.0))
PATIENCE = 20
"""Seconds after which a case is a hang; the machine may be busy."""
SHARED = 100
"""Cases per child process."""
MEMORY = 2**30
"""Bytes of memory that a child may use more than it has at the start; what a file claims beyond that fails at once."""
NUMBERS = [0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1]
"""Counts and offsets that formats may not expect."""
WORDS = [
    b"",
    b"nan",
    b"inf",
    b"-1",
    b"1e39",
    b"1e400",
    b'"',
    b",",
    b";",
    b"\n",
    b"\x00",
    b"\xff\xfe",
    b"[",
    b"{",
    b"null",
    b"true",
    b"%",
]


def layouts() -> dict[str, tuple[Any, ColumnNames | None, str | None]]:
    """By name: how a layout is written, the names of its columns and its format, where they have to be given."""
    import layouts as write  # type: ignore[import-not-found]

    return {
        "a.npz": (write.write_npz_file, None, None),
        "npz": (write.write_npz_folder, None, None),
        "a.csv": (write.write_csv_file, TABLE._replace(episode="episode"), None),
        "csv": (write.write_csv_folder, TABLE, None),
        "aloha": (write.write_aloha, None, None),
        "robomimic.hdf5": (lambda path, pairs: write.write_robomimic(path, pairs, valid=[1]), None, None),
        "flat.h5": (write.write_hdf5_file, None, None),
        "lerobot2": (lambda path, pairs: write.write_lerobot(path, pairs, "v2.1"), None, None),
        "lerobot3": (write.write_lerobot, None, None),
        "streams": (write.write_streams, STREAMS, "streams"),
        "minari-v0": (lambda path, pairs: write.write_minari(path.with_name("minari"), pairs), None, None),
    }


def damaged(content: bytes, generator: np.random.Generator) -> bytes:
    """The content with one to three changes; in two thirds of the cases its length stays, since most formats check that first."""
    found = bytearray(content)
    change = (flipped, overwritten, spliced)[generator.integers(3)]
    for _ in range(generator.integers(1, 4)):
        change(found, int(generator.integers(0, max(1, len(found)))), generator)
    return bytes(found)


def flipped(content: bytearray, place: int, generator: np.random.Generator) -> None:
    """Flip a bit."""
    if content:
        content[place] ^= 1 << int(generator.integers(8))


def overwritten(content: bytearray, place: int, generator: np.random.Generator) -> None:
    """Overwrite bytes with an unusual number, a word, another part of the file or random bytes."""
    number = NUMBERS[generator.integers(len(NUMBERS))].to_bytes(8, "little")
    elsewhere = int(generator.integers(0, max(1, len(content))))
    word = WORDS[generator.integers(len(WORDS))]
    choices = [number, number[:4], number[:2], word, word, bytes(content[elsewhere : elsewhere + 16]), generator.bytes(4)]
    choice = choices[generator.integers(len(choices))][: max(0, len(content) - place)]
    content[place : place + len(choice)] = choice


def spliced(content: bytearray, place: int, generator: np.random.Generator) -> None:
    """Insert a word, repeat some bytes, or leave some or all of the rest out."""
    span = int(generator.integers(1, 65))
    word = WORDS[generator.integers(len(WORDS))]
    repeated = bytes(content[place : place + span])
    choices = [(0, word), (0, repeated), (span, b""), (span, word), (len(content), b"")]
    length, replacement = choices[generator.integers(len(choices))]
    content[place : place + length] = replacement


def run_case(number: int, seed: int, written: Path, scratch: Path) -> str:
    """Outcome of one case: imported, refused, or what went wrong."""
    generator = np.random.default_rng([seed, number])
    kinds = layouts()
    name = sorted(kinds)[number % len(kinds)]
    _, columns, kind = kinds[name]
    folder = scratch / str(number)
    folder.mkdir()
    source = folder / name
    (shutil.copytree if (written / name).is_dir() else shutil.copy)(written / name, source)
    files = sorted(file for file in source.rglob("*") if file.is_file()) if source.is_dir() else [source]
    if number >= len(kinds):  # the first case of each layout is intact
        file = files[generator.integers(len(files))]
        file.write_bytes(damaged(file.read_bytes(), generator))
    outcome = "imported"
    try:
        import_data(source, folder / "out.npz", columns=columns, kind=kind)
    except MvlError as error:
        text = str(error)
        outcome = (
            "refused" if str(folder) in text and "\n" not in text else f"refused without the file, or in several lines: {text}"
        )
    except Exception:
        outcome = f"foreign exception:\n{traceback.format_exc()}"
    expected = {name, "out.npz", "out-val.npz"} if outcome == "imported" else {name}
    if {path.name for path in folder.iterdir()} != expected:
        outcome = f"left files behind: {sorted(path.name for path in folder.iterdir())}"
    shutil.rmtree(folder)
    return outcome


def run_cases(numbers: list[int], seed: int, written: Path, scratch: Path) -> dict[int, str]:
    """Outcomes of cases in a child process; after a crash or a hang, the rest runs in another one."""
    results = scratch / "results"
    results.write_text("")
    child = os.fork()
    if child == 0:
        _child(numbers, seed, written, scratch, results)
    status = os.waitpid(child, 0)[1]
    lines = results.read_text().split("\0")[:-1]
    found = {int(line.partition(" ")[0]): line.partition(" ")[2] for line in lines}
    left = [number for number in numbers if number not in found]
    if left:
        how = "a hang" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM else f"a crash (status {status})"
        found[left[0]] = how
        shutil.rmtree(scratch / str(left[0]), ignore_errors=True)
        if left[1:]:
            found |= run_cases(left[1:], seed, written, scratch)
    return found


def _child(numbers: list[int], seed: int, written: Path, scratch: Path, results: Path) -> None:
    """Run cases and write their outcomes; never returns."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    warnings.simplefilter("ignore")
    with open(results, "a") as file:
        for number in numbers:
            signal.alarm(PATIENCE)  # its default action ends the process, even within a library
            file.write(f"{number} {run_case(number, seed, written, scratch)}\0")
            file.flush()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000, help="damaged files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="repeat this case only, in this process")
    options = parser.parse_args()
    os.nice(10)
    with tempfile.TemporaryDirectory() as place:
        written, scratch = Path(place) / "written", Path(place) / "scratch"
        written.mkdir()
        scratch.mkdir()
        import layouts as write

        for name, (function, _, _) in layouts().items():
            function(written / name, write.made(3, rows=6))
        if options.case is not None:
            print(run_case(options.case, options.seed, written, scratch))
            return
        began, found = time.monotonic(), dict[int, str]()
        for first in range(0, options.files, SHARED):
            found |= run_cases(list(range(first, min(first + SHARED, options.files))), options.seed, written, scratch)
        names = sorted(layouts())
    good = ("imported", "refused")
    for number, outcome in sorted(found.items()):
        if outcome not in good:
            print(f"case {number} ({names[number % len(names)]}): {outcome}")
    for name in names:
        count = Counter(outcome if outcome in good else "wrong" for n, outcome in found.items() if names[n % len(names)] == name)
        print(f"{name:<16}" + "".join(f"{kind:>12} {count[kind]}" for kind in (*good, "wrong")))
    wrong = sum(outcome not in good for outcome in found.values())
    print(f"{len(found)} files, {wrong} neither imported nor refused, {time.monotonic() - began:.0f} s")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
