"""Success as text tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def success_table(per_seed: Mapping[int, dict[str, Any]]) -> str:
    """Success per task and overall, one line per seed and their mean."""
    tasks = len(next(iter(per_seed.values()))["tasks"])
    lines = [f"{'':<8}" + "".join(f"{f'task {i + 1}':>8}" for i in range(tasks)) + f"{'overall':>10}"]
    table = np.array([[*row["tasks"], row["overall"]] for row in per_seed.values()])
    labels = [f"seed {seed}" for seed in per_seed]
    for label, row in zip(labels, table, strict=True):
        lines.append(_line(label, row))
    if len(table) > 1:
        lines.append(_line("mean", table.mean(axis=0)))
    return "\n".join(lines)


def _line(label: str, row: np.ndarray) -> str:
    return f"{label:<8}" + "".join(f"{value:>8.2f}" for value in row[:-1]) + f"{row[-1]:>10.3f}"
