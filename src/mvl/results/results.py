"""What was found for every cell of a plan: seeds, mean and interval, and whether they agree with the paper."""

from dataclasses import dataclass

from mvl.results.statistics import Estimate, estimate
from mvl.studies.plan import Cell, Plan
from mvl.studies.store import Seed, held


@dataclass(frozen=True)
class Result:
    """A cell and what was found for it."""

    cell: Cell
    seeds: tuple[Seed, ...]

    @property
    def label(self) -> str:
        """The row's name, and the task or subtask of it that this is about."""
        return self.cell.row if self.cell.part == "overall" else f"{self.cell.row} {self.cell.part}"

    @property
    def values(self) -> list[float]:
        """Percent, by seed."""
        return [100 * _success(self.cell, seed) for seed in self.seeds]

    @property
    def estimate(self) -> Estimate | None:
        return estimate(self.values, (0.0, 100.0)) if self.seeds else None

    @property
    def agreement(self) -> str:
        """= > < ? as `mvl.results.comparison.AGREEMENT` says; nothing where there is nothing to compare."""
        found, paper = self.estimate, self.cell.paper
        if found is None or paper is None:
            return ""
        if len(self.seeds) == 1:
            return "?"
        if found.low > paper.mean + paper.std:
            return ">"
        return "<" if found.high < paper.mean - paper.std else "="

    @property
    def ours(self) -> str:
        found = self.estimate
        if found is None:
            return f"not available: {self.cell.why_not}" if self.cell.why_not else "not run"
        return shown(found, len(self.seeds))

    def theirs(self, table: str) -> str:
        paper = self.cell.paper
        if paper is None:
            return ""
        return str(paper) if paper.table == table else f"{paper} ({paper.table})"

    @property
    def steps(self) -> int | None:
        return self.cell.experiment.schedule.steps if self.cell.experiment else None


def shown(found: Estimate, seeds: int) -> str:
    """Mean and interval, which one seed has not."""
    return f"{found.mean:.0f}" if seeds == 1 else f"{found.mean:.0f} [{found.low:.0f}, {found.high:.0f}]"


def results(plan: Plan) -> list[Result]:
    """What the store holds for every cell, of the seeds that were asked for."""
    there = {experiment: held(experiment, plan.store, plan.data, plan.unpacked).finished for experiment in plan.experiments}
    return [
        Result(cell, tuple(there[cell.experiment][seed] for seed in plan.seeds if seed in there[cell.experiment]))
        if cell.experiment
        else Result(cell, ())
        for cell in plan.cells
    ]


def _success(cell: Cell, seed: Seed) -> float:
    """Of the whole, or of one of its tasks (`task2`) or subtasks (`light_switch`)."""
    if cell.part == "overall":
        return seed.overall
    assert cell.experiment is not None
    names = cell.experiment.task.subtasks
    index = names.index(cell.part.replace("_", " ")) if names else int(cell.part.removeprefix("task")) - 1
    return seed.tasks[index]
