"""A table of how well the value surfaces of maze runs follow the true distance, beside their success."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from mvl.regularizers.mollified import Mollified
from mvl.results.geometry import Geometry, geometry, mean
from mvl.results.results import Result
from mvl.results.table import Table
from mvl.runs.folder import RunFolder
from mvl.runs.measuring import measured_once

BOUND = Mollified()
"""The paper's mollifier: all runs are measured with the same bound, whatever they were trained with."""
NOTHING = "no finished run of this table has a value function over a maze."
MEANING = (
    "Value surfaces, mean over goals and seeds. rank and correlation: Spearman's and Pearson's of V with minus the length of the "
    "shortest way; ascent: share of states from which climbing V ends at the goal; downhill: share where V rises as the way "
    "gets shorter; jitter: roughness; violated: share of the mollified bounds (nu 0.01, c 1) that fail."
)
COLUMNS = ("row", "column", "success", *(name.replace("_correlation", "") for name in Geometry._fields))


def surface_table(found: Sequence[Result], report: Callable[[str], None]) -> Table:
    """A row for each result whose runs learned a value function over a maze; measuring takes some seconds a run."""
    finished = [result for result in found if result.cell.part == "overall" and result.seeds]
    rows, csv_rows = [], []
    for number, result in enumerate(finished, 1):
        report(f"measuring surfaces: {number}/{len(finished)}")
        measured = [surface_of(run) for run in sorted({seed.run for seed in result.seeds})]
        known = [surface for surface in measured if surface is not None]
        if known:
            place, surface = (result.cell.row, result.cell.column), mean(known)
            rows.append([*place, result.ours, *(f"{value:.2f}" for value in surface)])
            csv_rows.append([*place, len(result.seeds), f"{np.mean(result.values):.2f}", *surface.to_json().values()])
    numbers = Table(["row", "column", "seeds", "mean", *Geometry._fields], csv_rows)
    return Table(COLUMNS, rows, notes=[MEANING], as_csv=numbers, if_empty=NOTHING)


def surface_of(run: Path) -> Geometry | None:
    """The geometry of a run, None if it has none; measured once for a checkpoint and saved in the run's folder."""
    known = measured_once(run, RunFolder(run).surface_file, _measure)
    return Geometry(**known) if known else None


def _measure(run: Path) -> dict[str, float] | None:
    found = geometry(run, BOUND)
    return found and found.to_json()
