"""The part of a report about held-out measures."""

from mvl.evaluation.held_out.measures import BEST, MEASURES, Measure
from mvl.report.charts import success_mark
from mvl.report.content import Content
from mvl.report.markup import Markup, paragraph, table
from mvl.results.statistics import estimate

NOTE = (
    f"{BEST} ranks policies best where that could be compared with a simulator (docs/choosing.md). It is no success rate: "
    "compare runs with it."
)


def held_out_measures(content: Content) -> str:
    """All held-out measures of a run, or the reason why there are none; empty if an environment makes them unnecessary."""
    if content.judged is None:
        return "" if content.description.task.simulated else paragraph(f"No held-out measures: {content.not_judged}", "note")
    several = len(content.judged.seeds) > 1
    heads = ["measure", "what it is", "", "value [95 %]", *(f"seed {seed}" for seed in content.judged.seeds if several)]
    rows = []
    for name, values in content.judged.measures.items():
        measure = MEASURES[name]
        found = estimate(values, _range(measure))
        drawn = Markup(success_mark(found, several, None)) if measure.is_share else Markup("")
        value = str(found) if several else f"{found.mean:.2f}"
        meaning = f"{measure.meaning} ({'higher' if measure.higher_is_better else 'lower'} is better)"
        rows.append([name, meaning, drawn, value, *(f"{one:.2f}" for one in values if several)])
    caption = f"Held-out measures at step {content.judged.step:,}, from the validation data alone"
    return table(caption, heads, rows, left=3) + paragraph(NOTE, "note")


def _range(measure: Measure) -> tuple[float, float]:
    """The values that a measure can have."""
    if not measure.higher_is_better:
        return 0.0, float("inf")
    return (0.0, 1.0) if measure.is_share else (-1.0, 1.0)
