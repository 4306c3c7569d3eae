"""Success at equal training time: every way to train, stopped when the cheapest of its row has finished."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mvl.experiment import Experiment
from mvl.results.results import Result, shown
from mvl.results.statistics import Estimate, estimate
from mvl.results.table import piped, write_texts
from mvl.runs import metrics
from mvl.runs.evaluation import reported
from mvl.runs.folder import RunFolder
from mvl.studies.plan import Plan
from mvl.studies.timing import step_times

NOTHING = "nothing that can be timed here is behind this table yet."
MEANING = (
    "Success in percent after the training time in which the cheapest column of the row takes all its steps: milliseconds of a "
    "step, measured alone on one core or device of this machine; the steps of that column which fit; the mean of the last "
    "three evaluations until then, over seeds with a 95 % interval."
)
HEAD = ("row", "column", "ms a step", "against the cheapest", "steps that fit", "success", "with all steps")


@dataclass(frozen=True)
class Stopped:
    """A cell whose trainings are stopped when the time is over."""

    result: Result
    seconds: float
    """Of a step."""
    cheapest: float
    """Seconds of a step of the cheapest column of the row."""

    @property
    def steps(self) -> int:
        assert self.result.steps is not None
        return int(self.result.steps * self.cheapest / self.seconds)

    @property
    def values(self) -> list[float]:
        """Percent, by seed; seeds without an evaluation until then have none."""
        return [100 * value for seed in self.result.seeds if (value := until(seed.run, seed.number, self.steps)) is not None]

    @property
    def estimate(self) -> Estimate | None:
        return estimate(self.values, (0.0, 100.0)) if self.values else None

    @property
    def words(self) -> tuple[str, ...]:
        cell, ratio = self.result.cell, self.seconds / self.cheapest
        success = shown(self.estimate, len(self.values)) if self.estimate else "not evaluated by then"
        return cell.row, cell.column, f"{1e3 * self.seconds:.2f}", f"{ratio:.2f} x", str(self.steps), success, self.result.ours


def until(run: Path, seed: int, steps: int) -> float | None:
    """Success of a seed by the evaluations up to a step."""
    rows = [row for row in metrics.read(RunFolder(run).evaluations_file) if row["seed"] == seed and row["step"] <= steps]
    return reported(rows)[seed]["overall"] if rows else None


def stopped(found: Sequence[Result], times: Mapping[Experiment, float]) -> list[Stopped]:
    """Of every finished cell whose step was timed; rows are compared within."""
    timed = [r for r in found if r.cell.part == "overall" and r.seeds and r.cell.experiment in times]
    seconds = lambda result: times[result.cell.experiment]
    cheapest: dict[str, float] = {}
    for result in timed:
        cheapest[result.cell.row] = min(seconds(result), cheapest.get(result.cell.row, float("inf")))
    return [Stopped(result, seconds(result), cheapest[result.cell.row]) for result in timed]


def measured(plan: Plan, found: Sequence[Result], report: Callable[[int, int], None]) -> list[Stopped]:
    """With a step of every way to train timed now, or remembered from before."""
    experiments = list(dict.fromkeys(r.cell.experiment for r in found if r.seeds and r.cell.experiment))
    return stopped(found, step_times(experiments, plan.data, plan.store, report))


def markdown(cells: Sequence[Stopped]) -> str:
    return f"{MEANING}\n\n{piped(HEAD, [one.words for one in cells])}\n"


def as_csv(cells: Sequence[Stopped]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "column", "milliseconds", "ratio", "steps", "seeds", "mean", "low", "high", "per_seed"])
    for cell in cells:
        place = cell.result.cell.row, cell.result.cell.column
        costs = f"{1e3 * cell.seconds:.3f}", f"{cell.seconds / cell.cheapest:.3f}", cell.steps, len(cell.values)
        numbers = [f"{value:.2f}" for value in cell.estimate] if cell.estimate else ["", "", ""]
        writer.writerow([*place, *costs, *numbers, " ".join(f"{value:.2f}" for value in cell.values)])
    return text.getvalue()


def write(plan: Plan, cells: Sequence[Stopped], folder: Path) -> list[Path]:
    """NAME-equal-time.md and .csv, anew."""
    return write_texts(folder, f"{plan.name}-equal-time", {"md": markdown(cells), "csv": as_csv(cells)})
