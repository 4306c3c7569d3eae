"""Success after equal training time: every column stopped when the cheapest one of its row has taken all its steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mvl.experiment import Experiment
from mvl.results.results import Result, estimate_text
from mvl.results.statistics import Estimate, estimate
from mvl.results.table import Table
from mvl.runs import metrics
from mvl.runs.evaluation import reported
from mvl.runs.folder import RunFolder
from mvl.studies.plan import Plan
from mvl.studies.timing import step_times

NOTHING = "no finished run of this table can be timed on this machine."
MEANING = (
    "Success in percent after the training time in which the cheapest column of the row takes all its steps: milliseconds of a "
    "step, measured alone on one core or device of this machine; the steps of that column which fit; the mean of the last "
    "three evaluations until then, over seeds with a 95 % interval."
)
COLUMNS = ("row", "column", "ms a step", "against the cheapest", "steps that fit", "success", "with all steps")
CSV_COLUMNS = ("row", "column", "milliseconds", "ratio", "steps", "seeds", "mean", "low", "high", "per_seed")


@dataclass(frozen=True)
class Stopped:
    """A result if training stops after the time in which the cheapest column of the row takes all its steps."""

    result: Result
    seconds: float
    """Of one training step."""
    cheapest: float
    """Seconds of one training step of the cheapest column in the row."""

    @property
    def ratio(self) -> float:
        return self.seconds / self.cheapest

    @property
    def steps(self) -> int:
        """Training steps that fit into the time."""
        assert self.result.steps is not None
        return int(self.result.steps * self.cheapest / self.seconds)

    @property
    def values(self) -> list[float]:
        """Success in percent by seed, without the seeds that were not evaluated by then."""
        return [100 * value for seed in self.result.seeds if (value := success_by(seed.run, seed.number, self.steps)) is not None]

    @property
    def estimate(self) -> Estimate | None:
        return estimate(self.values, (0.0, 100.0)) if self.values else None

    @property
    def place(self) -> tuple[str, str]:
        return self.result.cell.row, self.result.cell.column

    @property
    def row(self) -> tuple[str, ...]:
        success = estimate_text(self.estimate, len(self.values)) if self.estimate else "not evaluated by then"
        return *self.place, f"{1e3 * self.seconds:.2f}", f"{self.ratio:.2f} x", str(self.steps), success, self.result.ours

    @property
    def csv_row(self) -> list[object]:
        costs = f"{1e3 * self.seconds:.3f}", f"{self.ratio:.3f}", self.steps, len(self.values)
        numbers = [f"{value:.2f}" for value in self.estimate] if self.estimate else [""] * 3
        return [*self.place, *costs, *numbers, " ".join(f"{value:.2f}" for value in self.values)]


def success_by(run: Path, seed: int, steps: int) -> float | None:
    """Success of a seed from the last evaluations up to a step, None if there is none."""
    rows = [row for row in metrics.read(RunFolder(run).evaluations_file) if row["seed"] == seed and row["step"] <= steps]
    return float(reported(rows)[seed]["overall"]) if rows else None


def stopped(found: Sequence[Result], times: Mapping[Experiment, float]) -> list[Stopped]:
    """Every finished result whose experiment has a time per step, compared within its row."""
    finished = [result for result in found if result.cell.part == "overall" and result.seeds and result.simulated]
    timed = [(r, times[r.cell.experiment]) for r in finished if r.cell.experiment in times]
    cheapest: dict[str, float] = {}
    for result, seconds in timed:
        cheapest[result.cell.row] = min(seconds, cheapest.get(result.cell.row, float("inf")))
    return [Stopped(result, seconds, cheapest[result.cell.row]) for result, seconds in timed]


def equal_time_table(plan: Plan, found: Sequence[Result], report: Callable[[int, int], None]) -> Table:
    """A row for each finished result; steps are timed now unless that was done before."""
    experiments = list(dict.fromkeys(r.cell.experiment for r in found if r.seeds))
    cells = stopped(found, step_times(experiments, plan.data, report))
    numbers = Table(CSV_COLUMNS, [cell.csv_row for cell in cells])
    return Table(COLUMNS, [cell.row for cell in cells], notes=[MEANING], as_csv=numbers, if_empty=NOTHING)
