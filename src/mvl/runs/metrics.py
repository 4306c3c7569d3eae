"""Metrics as JSON lines, one row per step and seed. They contain no wall-clock times, so equal runs have equal files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mvl.errors import DamagedError
from mvl.files import append_line, atomic, open_unlinked

if TYPE_CHECKING:  # commands on results read rows too, and need not wait for the learner
    from mvl.learn.loop import Columns


def append(path: Path, row: dict[str, Any]) -> None:
    """Append a row to a file."""
    append_line(path, json.dumps(row))


def read(path: Path, growing: bool = False) -> list[dict[str, Any]]:
    """All rows of a file, none if it does not exist. A line that is not a row is an error.

    While another process may be writing to the file (`growing`), an unfinished last line is left out.
    """
    rows = []
    content = _content(path)
    complete = content[: content.rfind(b"\n") + 1] if growing else content
    for number, line in enumerate(complete.splitlines(), 1):
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


def sync(path: Path) -> int:
    """Write a file's buffers to the disk, and return its size in bytes; 0 if it does not exist."""
    if not path.exists():
        return 0
    with open_unlinked(path, "ab") as file:
        os.fsync(file.fileno())
        return file.tell()


def due(step: int, every: int, steps: int) -> list[int]:
    """The steps up to `step` at which rows are written: every `every` steps, and at the last of `steps`."""
    return [*range(every, step + 1, every), *([steps] if step >= steps and steps % every else [])]


def missing(rows: list[dict[str, Any]], expected: Sequence[int], seeds: Sequence[int]) -> list[int]:
    """The expected steps that lack a row for at least one of the seeds."""
    present = {(row["step"], row["seed"]) for row in rows}
    return [step for step in expected if any((step, seed) not in present for seed in seeds)]


def rewind(path: Path, step: int, recorded_size: Any, expected: Sequence[int], seeds: Sequence[int]) -> str:
    """Keep only the complete rows up to the step of a checkpoint; a killed run leaves rows after it.

    Returns a warning if the size of the kept rows is not the one that the checkpoint recorded, with those of the `expected`
    steps that are missing: rows were lost, or the record was changed. Otherwise returns an empty string.
    """
    content = _content(path)
    kept = [(line, row) for line in content.splitlines() if (row := parsed(line)) and row["step"] <= step]
    text = b"".join(line + b"\n" for line, _ in kept)
    if text != content:
        with atomic(path) as partial:
            partial.write_bytes(text)
    if recorded_size == len(text):
        return ""
    lost = missing([row for _, row in kept], expected, seeds)
    remaining = f"its {len(kept)} complete rows up to that step are kept (missing steps: {_listed(lost)})"
    return f"{path} does not match the checkpoint of step {step}; {remaining}."


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _listed(steps: Sequence[int]) -> str:
    if len(steps) > 5:
        return f"{len(steps)} from {steps[0]} to {steps[-1]}"
    return ", ".join(map(str, steps)) or "none"


def mean_rows(columns: Columns, seeds: list[int], step: int) -> list[dict[str, Any]]:
    """One row per seed: the mean of each metric over the steps of `columns`."""
    means = {name: column.mean(axis=1, dtype=np.float64) for name, column in columns.items()}
    return [{"step": step, "seed": seed, **{k: round_to(v[i]) for k, v in means.items()}} for i, seed in enumerate(seeds)]


def round_to(value: float, digits: int = 7) -> float:
    """The value rounded to significant digits; float32 has seven."""
    if value == 0 or not math.isfinite(value):
        return float(value)
    return round(float(value), digits - 1 - math.floor(math.log10(abs(value))))
