"""Damaged lines of records: a file of them has to be read as runs that can be unpacked, or refused in one sentence."""

import json
import shutil
import traceback
from pathlib import Path

import numpy as np

from attack.damage import damaged
from attack.experiments import changed
from mvl.errors import MvlError
from mvl.runs.folder import RunFolder
from mvl.studies import records

SOURCE = Path(__file__).parents[2] / "docs" / "results" / "pointmaze-medium" / "runs.jsonl"


def write(folder: Path) -> None:
    """Copy some lines of records."""
    lines = SOURCE.read_bytes().splitlines(keepends=True)
    (folder / "runs.jsonl").write_bytes(b"".join(lines[::8]))


def case(number: int, generator: np.random.Generator, written: Path, scratch: Path) -> str:
    """Outcome of one case: accepted, refused, or what went wrong."""
    lines = (written / "runs.jsonl").read_bytes().splitlines(keepends=True)
    line = lines[number % len(lines)]
    if number >= len(lines):  # the first case of each line is intact
        line = damaged(line, generator) if generator.integers(2) else json.dumps(changed(json.loads(line), generator)).encode()
    file, run = scratch / f"{number}.jsonl", scratch / f"run{number}"
    file.write_bytes(line)
    try:
        for record in records.read(file):
            if record.description:
                record.unpack(run, record.description.experiment)
                RunFolder.open(run)
        return "accepted"
    except MvlError as error:
        return "refused" if str(file) in str(error) and "\n" not in str(error) else f"refused without the file: {error}"
    except Exception:
        return f"foreign exception for {line.decode(errors='replace')}:\n{traceback.format_exc()}"
    finally:
        file.unlink()
        shutil.rmtree(run, ignore_errors=True)
