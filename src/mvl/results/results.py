"""Results for the cells of a plan: seeds, mean and interval, and agreement with the paper."""

from dataclasses import dataclass, replace

from mvl.recipes.paper import Published
from mvl.results.statistics import Estimate, estimate, mean_std
from mvl.runs import metrics
from mvl.runs.folder import RunFolder
from mvl.runs.judging import measures_of
from mvl.studies.plan import Cell, Plan
from mvl.studies.store import Seed, judged, runs_of


@dataclass(frozen=True)
class Result:
    """A cell and its finished seeds."""

    cell: Cell
    seeds: tuple[Seed, ...]

    @property
    def label(self) -> str:
        """The row's name, followed by the task or subtask if the cell is about one."""
        return self.cell.row if self.cell.part == "overall" else f"{self.cell.row} {self.cell.part}"

    @property
    def column(self) -> str:
        return self.cell.column

    @property
    def simulated(self) -> bool:
        """Whether there is an environment; otherwise the measure `BEST` takes the place of success."""
        return self.cell.experiment.task.simulated

    @property
    def values(self) -> list[float]:
        """Success in percent of each seed."""
        return [100 * _success(self.cell, seed) for seed in self.seeds]

    @property
    def estimate(self) -> Estimate | None:
        return estimate(self.values, (0.0, 100.0)) if self.seeds else None

    @property
    def agreement(self) -> str:
        """One of = > < ?, explained in `mvl.results.comparison.AGREEMENT`; empty if there is nothing to compare."""
        return agreement(self.estimate, len(self.seeds), self.cell.paper)

    @property
    def paper(self) -> Published | None:
        """The paper's number for the cell."""
        return self.cell.paper

    @property
    def std(self) -> float:
        """Standard deviation of the seeds in percent; 0 for one seed."""
        return mean_std(self.values).std if len(self.seeds) > 1 else 0.0

    @property
    def ours(self) -> str:
        """Our mean and interval as text, or that there is none."""
        return self.text()

    def text(self, with_std: bool = False) -> str:
        """Our mean with its interval or with the standard deviation, or that there is none."""
        found = self.estimate
        if found is None:
            return "not run"
        return std_text(found.mean, self.std, len(self.seeds)) if with_std else estimate_text(found, len(self.seeds))

    @property
    def steps(self) -> int:
        """Training steps of the experiment."""
        return self.cell.experiment.schedule.steps


def agreement(found: Estimate | None, seeds: int, paper: Published | None) -> str:
    """How an estimate compares with the paper's mean ± std: one of = > < ?, or empty if there is nothing to compare."""
    if found is None or paper is None:
        return ""
    if seeds == 1:
        return "?"
    if found.low > paper.mean + paper.std:
        return ">"
    return "<" if found.high < paper.mean - paper.std else "="


def published_text(paper: Published | None, table: str) -> str:
    """The paper's mean and std, with the name of the table if it is another than `table`; empty without one."""
    if paper is None:
        return ""
    return str(paper) if paper.table == table else f"{paper} ({paper.table})"


def std_text(mean: float, std: float, seeds: int) -> str:
    """Mean and standard deviation as the paper prints them; the mean alone for one seed."""
    return f"{mean:.0f}" if seeds == 1 else f"{mean:.0f} ± {std:.0f}"


def estimate_text(found: Estimate, seeds: int) -> str:
    """The mean, with the interval if there is more than one seed."""
    return f"{found.mean:.0f}" if seeds == 1 else f"{found.mean:.0f} [{found.low:.0f}, {found.high:.0f}]"


def results(plan: Plan, save: bool = True) -> list[Result]:
    """The result of every cell, with those of the plan's seeds that are finished.

    Without an environment seeds are judged by held-out measures; those not yet computed are saved in the runs, if wanted.
    """
    finished = {experiment: runs_of(experiment, plan.store, plan.data, plan.unpacked).finished for experiment in plan.experiments}
    found = []
    for cell in plan.cells:
        seeds = [finished[cell.experiment].get(seed) for seed in plan.seeds]
        found.append(Result(cell, tuple(_best(seed) if cell.best else seed for seed in seeds if seed)))
    return [result if result.simulated else with_measures(result, save) for result in found]


def _best(seed: Seed) -> Seed:
    """The seed with the success of its best evaluation."""
    rows = [row for row in metrics.read(RunFolder(seed.run).evaluations_file) if row["seed"] == seed.number]
    best = max(rows, key=lambda row: float(row["overall"]))
    return replace(seed, overall=best["overall"], tasks=tuple(best["tasks"]))


def with_measures(result: Result, save: bool = True) -> Result:
    """The result with held-out measures of every seed, computed where they are missing, and saved in the runs if wanted.

    Seeds without measures and without a checkpoint to compute them from, as in records, are left out.
    """
    seeds = []
    for seed in result.seeds:
        if seed.measures:
            seeds.append(seed)
        elif found := measures_of(seed.run, save):
            seeds.append(judged(seed, found.of(seed.number)))
    return replace(result, seeds=tuple(seeds))


def _success(cell: Cell, seed: Seed) -> float:
    """Success of a seed from 0 to 1, overall or in the cell's task (`task2`) or subtask (`light_switch`)."""
    if cell.part == "overall":
        return seed.overall
    names = cell.experiment.task.subtasks
    index = names.index(cell.part.replace("_", " ")) if names else int(cell.part.removeprefix("task")) - 1
    return seed.tasks[index]
