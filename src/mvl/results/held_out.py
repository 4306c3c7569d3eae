"""Tables of held-out measures: of the seeds of one run, and of many runs."""

from collections.abc import Sequence

import numpy as np

from mvl.evaluation.held_out.measures import MEASURES, Measure
from mvl.results.results import Result
from mvl.results.table import Table
from mvl.runs.judging import Judged

NOTHING = "no finished run of this table has held-out measures."


def judged_table(judged: Judged) -> Table:
    """The measures of one run: a row for each measure, a column for each seed, and what it means."""
    rows = [
        [name, *(f"{value:.3f}" for value in values), f"{MEASURES[name].meaning} ({_direction(MEASURES[name])})"]
        for name, values in judged.measures.items()
    ]
    return Table(["", *(f"seed {seed}" for seed in judged.seeds), ""], rows)


def _direction(measure: Measure) -> str:
    return "higher is better" if measure.higher_is_better else "lower is better"


def held_out_table(found: Sequence[Result]) -> Table:
    """A row for each result whose seeds have measures; a recipe without a value has some only."""
    rows, csv_rows = [], []
    for result in found:
        known = [seed.measures for seed in result.seeds if seed.measures]
        if known and result.cell.part == "overall":
            means = [np.mean([seed[name] for seed in known]) if name in known[0] else None for name in MEASURES]
            place = result.cell.row, result.cell.column
            rows.append([*place, *("" if mean is None else f"{mean:.2f}" for mean in means)])
            csv_rows.append([*place, len(known), *("" if mean is None else f"{mean:.6g}" for mean in means)])
    meaning = "; ".join(f"{name}: {measure.meaning} ({_direction(measure)})" for name, measure in MEASURES.items())
    numbers, notes = Table(["row", "column", "seeds", *MEASURES], csv_rows), [f"Held-out measures, mean over seeds. {meaning}."]
    return Table(["row", "column", *MEASURES], rows, notes=notes, labels=2, as_csv=numbers, if_empty=NOTHING)
