"""The settings of a recipe ranked by success or validation loss, and the choice of the best."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mvl.errors import MvlError
from mvl.files import atomic
from mvl.recipes.families import canonical
from mvl.results.results import Result
from mvl.results.statistics import Estimate, estimate
from mvl.results.table import Table
from mvl.studies.plan import Plan
from mvl.studies.store import Seed

MEASURES = {
    "success": "success in percent, the higher the better",
    "validation": "losses of value and policy on validation data added, the lower the better; the penalty is left out, as it "
    "grows with its weight",
}
COLUMNS = ("", "settings", "mean", "95 % interval", "seeds")


@dataclass(frozen=True)
class Ranked:
    """A combination of settings, its result and the score it is ranked by."""

    label: str
    result: Result
    score: Estimate


def ranking(found: list[Result], by: str) -> list[Ranked]:
    """The results by score, best first, without those that have no finished seed."""
    within = (0.0, 100.0) if by == "success" else (-np.inf, np.inf)
    scored = [
        Ranked(result.cell.column, result, estimate([_score(seed, by) for seed in result.seeds], within))
        for result in found
        if result.seeds
    ]
    return sorted(scored, key=lambda entry: entry.score.mean, reverse=by == "success")


def _score(seed: Seed, by: str) -> float:
    """Success in percent, or the sum of the validation losses."""
    if by == "success":
        return 100 * seed.overall
    parts = [seed.validation[f"validation/{part}/loss"] for part in ("value", "policy")]
    return float(sum(parts))


def ranking_table(ranked: Sequence[Ranked], by: str) -> Table:
    """The ranking, with a note on whether the intervals of the first two overlap."""
    rows = []
    for place, entry in enumerate(ranked, start=1):
        interval = f"[{entry.score.low:.4g}, {entry.score.high:.4g}]" if len(entry.result.seeds) > 1 else ""
        rows.append([place, entry.label, f"{entry.score.mean:.4g}", interval, len(entry.result.seeds)])
    notes = []
    if len(ranked) > 1:
        first, second = ranked[0].score, ranked[1].score
        apart = first.low > second.high or first.high < second.low
        notes = ["the intervals of the first two do not overlap" if apart else "the intervals of the first two overlap"]
    return Table(COLUMNS, rows, f"{MEASURES[by]}:", notes)


def write_choice(plan: Plan, ranked: list[Ranked], by: str, path: Path) -> str:
    """Write the best settings as JSON, with the whole ranking; returns a line that says so."""
    if not ranked:
        raise MvlError("no run is finished, so there is nothing to choose from; run the same command again.")
    experiment = ranked[0].result.cell.experiment
    assert experiment is not None
    choice = {
        "task": str(experiment.task),
        "recipe": canonical(experiment.recipe_name),
        "preset": experiment.preset,
        "by": by,
        "seeds": plan.seeds,
        "chosen": ranked[0].label,
        "changes": experiment.changes(),
        "ranking": [{"label": entry.label, **entry.score._asdict(), "per_seed": entry.result.values} for entry in ranked],
    }
    with atomic(path) as partial:
        partial.write_text(json.dumps(choice, indent=1) + "\n")
    return f"chosen on {experiment.task} alone, by {by}: {ranked[0].label}; wrote {path}"
