"""Tables that `mvl reproduce`, `mvl sweep` and `mvl tune` can add about the same runs."""

from argparse import Namespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import _ArgumentGroup
    from collections.abc import Iterator, Sequence

    from mvl.results.results import Result
    from mvl.results.table import Table
    from mvl.studies.plan import Plan

KINDS = ("surfaces", "plans", "variants", "equal-time")
"""Their names, which are options, too."""
ENDINGS = ("md", "csv")
"""Files of each."""


def add_options(where: "_ArgumentGroup") -> None:
    """Add the options for further tables about the same runs."""
    where.add_argument(
        "--surfaces", action="store_true", help="also measure how well value functions over mazes follow the true distance"
    )
    where.add_argument(
        "--plans", action="store_true", help="also compare success with and without a planner, by playing finished runs again"
    )
    where.add_argument(
        "--variants",
        nargs="+",
        default=[],
        metavar="WORD",
        help="also play finished runs in variants of their tasks: disturbed, for panda-reach-grasp-disturbed",
    )
    where.add_argument(
        "--equal-time", action="store_true", help="also compare success after equal training time, by the measured time per step"
    )


def check_variants(plan: "Plan", words: "Sequence[str]") -> None:
    """Refuse variants that a task of the plan does not have."""
    from mvl.results.variants import variant_of

    for experiment in plan.experiments if words else ():
        for word in words:
            variant_of(experiment.task, word)


def file_names(plan: "Plan", options: Namespace) -> list[str]:
    """The files of the tables that the options ask for."""
    asked = [kind for kind in KINDS if getattr(options, kind.replace("-", "_"))]
    return [f"{plan.name}-{kind}.{ending}" for kind in asked for ending in ENDINGS]


def extra_tables(plan: "Plan", found: "list[Result]", options: Namespace) -> "Iterator[tuple[str, Table]]":
    """Further tables about the same cells, by the name of their option; each is measured when it is asked for."""
    from mvl.results.equal_time import equal_time_table
    from mvl.results.planned import planned_table
    from mvl.results.surfaces import surface_table
    from mvl.results.variants import variant_table
    from mvl.runs.display import counting

    if options.surfaces:
        yield "surfaces", surface_table(found, lambda line: print(line, flush=True))
    if options.plans:
        yield "plans", planned_table(found, lambda line: print(line, flush=True))
    if options.variants:
        yield "variants", variant_table(found, options.variants, lambda line: print(line, flush=True))
    if options.equal_time:
        with counting("timing steps") as report:
            table = equal_time_table(plan, found, report)
        yield "equal-time", table
