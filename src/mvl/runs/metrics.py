"""Metrics as JSON lines: the truth of a run. Files hold no clock times, so equal runs have equal files."""

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mvl.errors import DamagedError
from mvl.files import append_line, atomic, open_unlinked
from mvl.learn.loop import Columns


def append(path: Path, row: dict[str, Any]) -> None:
    append_line(path, json.dumps(row))


def read(path: Path, growing: bool = False) -> list[dict[str, Any]]:
    """All rows of a file, none if it does not exist. A line that is not a row is an error.

    While another process may be writing to the file (`growing`), an unfinished last line is left out.
    """
    rows = []
    content = _content(path)
    whole = content[: content.rfind(b"\n") + 1] if growing else content
    for number, line in enumerate(whole.splitlines(), 1):
        row = parsed(line)
        if row is None:
            advice = f"remove the line, or have it removed with: mvl train --resume {path.parent}"
            raise DamagedError(f"{path}, line {number}: not a JSON object with a step and a seed; {advice}")
        rows.append(row)
    return rows


def parsed(line: bytes) -> dict[str, Any] | None:
    """The row in a line, or None if it is not a JSON object with a step and a seed."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and all(type(row.get(name)) is int for name in ("step", "seed")) else None


def synced(path: Path) -> int:
    """Size of a file in bytes, after everything written to it has reached the disk; 0 if it does not exist."""
    if not path.exists():
        return 0
    with open_unlinked(path, "ab") as file:
        os.fsync(file.fileno())
        return file.tell()


def due(step: int, every: int, steps: int) -> list[int]:
    """The steps up to `step` at which rows are written: every so many steps, and at the end of `steps`."""
    return [*range(every, step + 1, every), *([steps] if step >= steps and steps % every else [])]


def missing(rows: list[dict[str, Any]], expected: Sequence[int], seeds: Sequence[int]) -> list[int]:
    """Those of the expected steps that have no row for one of the seeds."""
    there = {(row["step"], row["seed"]) for row in rows}
    return [step for step in expected if any((step, seed) not in there for seed in seeds)]


def rewind(path: Path, step: int, noted: Any, expected: Sequence[int], seeds: Sequence[int]) -> str:
    """Keep only the whole rows up to the step of a checkpoint.

    Rows after it are normal for a run that was killed. If what is kept has not the size that the checkpoint noted, rows were
    lost or the note was changed: the sentence returned says which of the `expected` steps are missing.
    """
    content = _content(path)
    kept = [(line, row) for line in content.splitlines() if (row := parsed(line)) and row["step"] <= step]
    text = b"".join(line + b"\n" for line, _ in kept)
    if text != content:
        with atomic(path) as partial:
            partial.write_bytes(text)
    if noted == len(text):
        return ""
    lost = missing([row for _, row in kept], expected, seeds)
    told = f"its {len(kept)} whole rows up to there are kept (missing steps: {_listed(lost)})"
    return f"{path} is not as the checkpoint of step {step} left it; {told}."


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _listed(steps: Sequence[int]) -> str:
    if len(steps) > 5:
        return f"{len(steps)} from {steps[0]} to {steps[-1]}"
    return ", ".join(map(str, steps)) or "none"


def mean_rows(columns: Columns, seeds: list[int], step: int) -> list[dict[str, Any]]:
    """One row per seed: the mean of each metric over a dispatch."""
    means = {name: column.mean(axis=1, dtype=np.float64) for name, column in columns.items()}
    return [{"step": step, "seed": seed, **{k: round_to(v[i]) for k, v in means.items()}} for i, seed in enumerate(seeds)]


def round_to(value: float, digits: int = 7) -> float:
    """Seven significant digits: what float32 carries."""
    if value == 0 or not math.isfinite(value):
        return float(value)
    return round(float(value), digits - 1 - math.floor(math.log10(abs(value))))
