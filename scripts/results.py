"""Run the studies of docs/results/studies.toml in their order; the same command continues after a stop.

Each study is one `mvl` command, which trains only the runs that are neither in its store nor in its records.
"""

import argparse
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STUDIES = Path("docs/results/studies.toml")


@dataclass(frozen=True)
class Study:
    """One entry of the file."""

    name: str
    command: str
    """A command of `mvl` that makes a table: reproduce, sweep or tune."""
    arguments: str
    to: str
    """Folder of the table, relative to the file."""
    records: str
    """File of the finished runs, relative to the file."""
    settings: str = ""
    """Settings of `mvl train`, given after --."""
    needs: str = ""
    """A data file of one's own that the arguments name, relative to the root of the repository."""
    prepare: Sequence[str] = ()
    """Commands that write that file, run unless it exists."""

    def words(self) -> list[str]:
        """The arguments of `mvl`, to be run in the root of the repository."""
        folder = STUDIES.parent
        files = ["--to", str(folder / self.to), "--records", str(folder / self.records), "--overwrite"]
        settings = ["--", *shlex.split(self.settings)] if self.settings else []
        return [self.command, *shlex.split(self.arguments), *files, *settings]

    def before(self) -> list[list[str]]:
        """The commands that have to be run first, as words after `python`."""
        missing = self.needs and not (ROOT / self.needs).exists()
        every = [shlex.split(text) for text in self.prepare] if missing else []
        return [["-m", *words] if words[0] == "mvl" else words[1:] for words in every]


def read_studies() -> list[Study]:
    entries = tomllib.loads((ROOT / STUDIES).read_text())["study"]
    try:
        studies = [Study(**entry) for entry in entries]
    except TypeError as error:
        sys.exit(f"{STUDIES}: an entry has a wrong or missing key ({error}); see the others.")
    if len({study.name for study in studies}) < len(studies):
        sys.exit(f"{STUDIES}: two studies have the same name; rename one.")
    return studies


def run(words: Sequence[str]) -> int:
    """The exit code of a Python command. Ctrl-C and SIGTERM stop the command, which saves its runs; this process waits for it."""
    process = subprocess.Popen([sys.executable, *words], cwd=ROOT)
    signal.signal(signal.SIGINT, lambda *_: None)  # a terminal sends it to the command too
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    return process.wait()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/results.py", description=f"Run the studies of {STUDIES} in their order.")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="run these studies only")
    parser.add_argument("--list", action="store_true", help="print the names of the studies and their commands")
    parser.add_argument("--dry-run", action="store_true", help="print plans and tables as they stand; train and write nothing")
    options: Any = parser.parse_args(argv)
    studies = {study.name: study for study in read_studies()}
    for name in options.only:
        if name not in studies:
            parser.error(f"no study named '{name}'; choose from {', '.join(studies)}")
    for name in options.only or studies:
        words = studies[name].words()
        at = words.index("--") if "--" in words else len(words)
        words[at:at] = ["--dry-run"] * options.dry_run
        print(f"{name}: mvl {shlex.join(words)}", flush=True)
        commands = [] if options.list else [*([] if options.dry_run else studies[name].before()), ["-m", "mvl", *words]]
        code = next((code for code in map(run, commands) if code), 0)
        if code:
            print(f"{name} stopped with exit code {code}; continue with: make results", file=sys.stderr)
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
