"""The average of a table's columns over all its rows, as the paper prints it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from mvl.recipes import paper
from mvl.recipes.paper import Published
from mvl.results.results import Result, agreement, estimate_text, std_text
from mvl.results.statistics import Estimate, estimate
from mvl.studies.plan import Plan

MEANING = (
    "{name}: the mean over the {rows} rows; its interval is that of the averages of the seeds, its standard deviation, as in the "
    "paper, the mean of those of the rows."
)


@dataclass(frozen=True)
class Average:
    """A column, averaged over the rows of its table."""

    label: str
    column: str
    results: tuple[Result, ...]
    """One for each row."""
    paper: Published | None
    """The paper's average over the same rows."""
    steps: int | None = None
    """Rows may have been trained for different numbers of steps."""

    @property
    def values(self) -> list[float]:
        """Success in percent averaged over the rows, of each seed that all of them have."""
        numbers = [dict(zip((seed.number for seed in result.seeds), result.values, strict=True)) for result in self.results]
        common = set.intersection(*(set(values) for values in numbers))
        return [fmean(values[seed] for values in numbers) for seed in sorted(common)]

    @property
    def estimate(self) -> Estimate | None:
        return estimate(self.values, (0.0, 100.0)) if self.values else None

    @property
    def agreement(self) -> str:
        return agreement(self.estimate, len(self.values), self.paper)

    def text(self, with_std: bool = False) -> str:
        """The mean with its interval, or with the mean of the rows' standard deviations."""
        found, seeds = self.estimate, len(self.values)
        assert found is not None, "made only of columns with a common seed"
        return std_text(found.mean, fmean(r.std for r in self.results), seeds) if with_std else estimate_text(found, seeds)


def averages(plan: Plan, found: Sequence[Result]) -> list[Average]:
    """One for each column that is complete in a table of the paper with averages; none for a single row or for other rows."""
    about = paper.TABLES.get(plan.name)
    rows = list(dict.fromkeys(result.cell.row for result in found))
    if about is None or not about.average or len(rows) < 2 or not set(rows) <= set(paper.rows(plan.name)):
        return []
    made = []
    for column in dict.fromkeys(result.cell.column for result in found):
        results = tuple(result for result in found if result.cell.column == column and result.cell.part == "overall")
        average = Average(about.average, column, results, paper.average(plan.name, rows, column))
        if len(results) == len(rows) and all(result.seeds for result in results) and average.values:
            made.append(average)
    return made
