"""Metrics as JSON lines: the truth of a run. Files hold no clock times, so equal runs have equal files."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.files import open_unlinked
from mvl.learn.loop import Columns


def append(path: Path, row: dict[str, Any]) -> None:
    with open_unlinked(path, "ab") as file:
        file.write(json.dumps(row).encode() + b"\n")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def cut(path: Path, length: int) -> None:
    """Forget what was written after a checkpoint."""
    if path.exists():
        with open_unlinked(path, "r+b") as file:
            file.truncate(length)


def mean_rows(columns: Columns, seeds: list[int], step: int) -> list[dict[str, Any]]:
    """One row per seed: the mean of each metric over a dispatch."""
    means = {name: column.mean(axis=1, dtype=np.float64) for name, column in columns.items()}
    return [{"step": step, "seed": seed, **{k: round_to(v[i]) for k, v in means.items()}} for i, seed in enumerate(seeds)]


def round_to(value: float, digits: int = 7) -> float:
    """Seven significant digits: what float32 carries."""
    if value == 0 or not math.isfinite(value):
        return float(value)
    return round(float(value), digits - 1 - math.floor(math.log10(abs(value))))
