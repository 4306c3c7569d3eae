"""Success of one run as a text table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def success_table(per_seed: Mapping[int, dict[str, Any]], names: Sequence[str] = ()) -> str:
    """Success of each task and overall, a line for each seed and one for their mean; tasks without names are numbered."""
    count = len(next(iter(per_seed.values()))["tasks"])
    heads = names or [f"task {i + 1}" for i in range(count)]
    widths = [max(8, len(head) + 2) for head in heads]
    cells = "".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True))
    lines = [f"{'':<8}{cells}{'overall':>10}"]
    table = np.array([[*row["tasks"], row["overall"]] for row in per_seed.values()])
    labels = [f"seed {seed}" for seed in per_seed]
    for label, row in zip(labels, table, strict=True):
        lines.append(_line(label, row, widths))
    if len(table) > 1:
        lines.append(_line("mean", table.mean(axis=0), widths))
    return "\n".join(lines)


def _line(label: str, row: np.ndarray, widths: list[int]) -> str:
    cells = "".join(f"{value:>{width}.2f}" for value, width in zip(row[:-1], widths, strict=True))
    return f"{label:<8}{cells}{row[-1]:>10.3f}"
