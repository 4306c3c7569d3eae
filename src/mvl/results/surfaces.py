"""The value surfaces behind a table: how well those over mazes follow the true distance, beside the success they led to."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mvl.files import atomic, refuse_links
from mvl.regularizers.mollified import Mollified
from mvl.results.geometry import Geometry, geometry, mean
from mvl.results.results import Result
from mvl.results.table import piped, write_texts
from mvl.runs.folder import RunFolder
from mvl.studies.plan import Plan

BOUND = Mollified()
"""The paper's, for every run alike: whoever was trained under another is asked about the same."""
NOTHING = "no value over a maze is behind this table yet."
MEANING = (
    "Value surfaces, mean over goals and seeds. rank and correlation: Spearman's and Pearson's of V with minus the length of the "
    "shortest way; ascent: share of states from which climbing V ends at the goal; downhill: share where V rises as the way "
    "gets shorter; jitter: roughness; violated: share of the mollified bounds (nu 0.01, c 1) that fail."
)


@dataclass(frozen=True)
class Surface:
    """Mean over the seeds of a cell."""

    result: Result
    found: Geometry

    @property
    def words(self) -> tuple[str, ...]:
        shown = (f"{value:.2f}" for value in self.found)
        return self.result.cell.row, self.result.cell.column, self.result.ours, *shown


HEAD = ("row", "column", "success", *(name.replace("_correlation", "") for name in Geometry._fields))


def measured(found: Sequence[Result], say: Callable[[str], None]) -> list[Surface]:
    """Of every cell with runs that learned a value over a maze; takes some seconds a run."""
    wholes = [result for result in found if result.cell.part == "overall" and result.seeds]
    surfaces = []
    for number, result in enumerate(wholes, 1):
        say(f"measuring surfaces: {number}/{len(wholes)}")
        each = [surface_of(run) for run in sorted({seed.run for seed in result.seeds})]
        known = [one for one in each if one is not None]
        if known:
            surfaces.append(Surface(result, mean(known)))
    return surfaces


def surface_of(run: Path) -> Geometry | None:
    """Measured once for a checkpoint and written down in the run's folder, which may have lost its checkpoint since."""
    written, checkpoint = RunFolder(run).surface_file, RunFolder(run).checkpoint_file
    if checkpoint.exists() and not (written.exists() and written.stat().st_mtime >= checkpoint.stat().st_mtime):
        refuse_links(written)
        found = geometry(run, BOUND)
        with atomic(written) as partial:
            partial.write_text(json.dumps(found and found.to_json()) + "\n")
    known = json.loads(written.read_text()) if written.exists() else None
    return Geometry(**known) if known else None


def markdown(surfaces: Sequence[Surface]) -> str:
    return f"{MEANING}\n\n{piped(HEAD, [one.words for one in surfaces])}\n"


def as_csv(surfaces: Sequence[Surface]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "column", "seeds", "mean", *Geometry._fields])
    for surface in surfaces:
        cell, estimate = surface.result.cell, surface.result.estimate
        assert estimate is not None, "it has seeds"
        numbers = [len(surface.result.seeds), f"{estimate.mean:.2f}", *surface.found.to_json().values()]
        writer.writerow([cell.row, cell.column, *numbers])
    return text.getvalue()


def write(plan: Plan, surfaces: Sequence[Surface], folder: Path) -> list[Path]:
    """NAME-surfaces.md and .csv, anew."""
    return write_texts(folder, f"{plan.name}-surfaces", {"md": markdown(surfaces), "csv": as_csv(surfaces)})
