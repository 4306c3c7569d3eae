"""Recipes and settings ranked by success, validation loss or a held-out measure, and the choice of the best."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mvl.errors import MvlError, UsageError, unknown
from mvl.evaluation.held_out.measures import BEST, MEASURES
from mvl.experiment import Experiment
from mvl.files import atomic
from mvl.recipes.families import canonical
from mvl.results.results import Result, with_measures
from mvl.results.statistics import Estimate, estimate
from mvl.results.table import Table
from mvl.studies.plan import Plan
from mvl.studies.store import Seed

LOSSES = ("validation/value/loss", "validation/policy/loss")
"""Of one recipe: runs of a recipe without a value may lack the first."""
CRITERIA = {
    "success": "success in percent, the higher the better",
    "validation": "losses of value and policy on validation data added, the lower the better; the penalty is left out, as it "
    "grows with its weight",
    **{
        name: f"{name}, {measure.meaning}, the {'higher' if measure.higher_is_better else 'lower'} the better"
        for name, measure in MEASURES.items()
    },
}
"""What `mvl tune --by` may be, and what it means."""
RANGES = {"success": (0.0, 100.0), **{name: (0.0, 1.0) for name, measure in MEASURES.items() if measure.is_share}}
"""Bounds of the criteria that have any."""
COLUMNS = ("", "settings", "mean", "95 % interval", "seeds")


@dataclass(frozen=True)
class Ranked:
    """A combination of settings, its result and the score it is ranked by."""

    label: str
    result: Result
    score: Estimate
    per_seed: list[float]


def check_criterion(by: str, experiments: Sequence[Experiment]) -> None:
    """Refuse a criterion that some of the experiments do not have, or that does not compare their recipes."""
    if by not in CRITERIA:
        raise unknown("criterion", by, CRITERIA)
    without = next((experiment for experiment in experiments if not experiment.task.simulated), None)
    if by == "success" and without:
        raise UsageError(f"{without.task} has no environment to succeed in; name one with --env, or choose --by {BEST}.")
    if by == "validation" and len({str(experiment.recipe.names()) for experiment in experiments}) > 1:
        raise UsageError(f"validation losses of different recipes do not compare; choose --by {BEST}.")
    valueless = next((experiment for experiment in experiments if not experiment.recipe.has_surface), None)
    if by in MEASURES and MEASURES[by].needs_value and valueless:
        raise UsageError(f"{valueless.recipe_name} learns no value, which {by} measures; choose --by {BEST}.")


def ranking(found: Sequence[Result], by: str, report: Callable[[int, int], None] = lambda done, total: None) -> list[Ranked]:
    """The results by score, best first, without those that have no finished seed.

    Held-out measures are computed where they are missing; `report` is called with the number of results that have them.
    """
    scored = []
    for number, result in enumerate(found, 1):
        known = with_measures(result) if by in MEASURES else result
        scores = [_score(seed, by) for seed in known.seeds]
        if scores:
            scored.append(Ranked(result.cell.column, known, estimate(scores, RANGES.get(by, (-np.inf, np.inf))), scores))
        report(number, len(found))
    highest_first = by == "success" or (by in MEASURES and MEASURES[by].higher_is_better)
    return sorted(scored, key=lambda entry: entry.score.mean, reverse=highest_first)


def _score(seed: Seed, by: str) -> float:
    """Success in percent, the sum of the validation losses, or a held-out measure."""
    if by == "success":
        return 100 * seed.overall
    if by in MEASURES:
        return seed.measures[by]
    losses = [seed.validation[name] for name in LOSSES if name in seed.validation]
    if not losses:
        raise MvlError(f"{seed.run} has no validation losses in its evaluations; choose --by {BEST}, or train it again.")
    return float(sum(losses))


def ranking_table(ranked: Sequence[Ranked], by: str) -> Table:
    """The ranking, with a note on whether the intervals of the first two overlap."""
    rows = []
    for place, entry in enumerate(ranked, start=1):
        interval = f"[{entry.score.low:.4g}, {entry.score.high:.4g}]" if len(entry.result.seeds) > 1 else ""
        rows.append([place, entry.label, f"{entry.score.mean:.4g}", interval, len(entry.result.seeds)])
    notes = []
    if len(ranked) > 1:
        notes = [_apart(ranked[0], ranked[1])]
    return Table(COLUMNS, rows, f"{CRITERIA[by]}:", notes)


def _apart(first: Ranked, second: Ranked) -> str:
    """Whether the intervals of two entries tell them apart, as text."""
    if min(len(first.per_seed), len(second.per_seed)) == 1:
        return "one seed has no interval, so the order may be chance; give more --seeds"
    apart = first.score.low > second.score.high or first.score.high < second.score.low
    return f"the intervals of the first two {'do not overlap' if apart else 'overlap'}"


def write_choice(plan: Plan, ranked: list[Ranked], by: str, path: Path) -> str:
    """Write the best settings as JSON, with the whole ranking; returns a line that says so."""
    if not ranked:
        raise MvlError("no run is finished, so there is nothing to choose from; run the same command again.")
    experiment = ranked[0].result.cell.experiment
    choice = {
        "task": experiment.task.label,
        "recipe": canonical(experiment.recipe_name),
        "preset": experiment.preset,
        "by": by,
        "seeds": plan.seeds,
        "chosen": ranked[0].label,
        "changes": experiment.changes(),
        "ranking": [{"label": entry.label, **_finite(entry.score), "per_seed": entry.per_seed} for entry in ranked],
    }
    with atomic(path) as partial:
        partial.write_text(json.dumps(choice, indent=1) + "\n")
    return f"chosen on {experiment.task.label} alone, by {by}: {ranked[0].label}; wrote {path}"


def _finite(score: Estimate) -> dict[str, float | None]:
    """A score for JSON, which has no infinity: the ends of an interval that one seed cannot give are null."""
    return {name: value if np.isfinite(value) else None for name, value in score._asdict().items()}
