"""`mvl sweep`: train every combination of tasks, recipes, settings and seeds."""

from typing import TYPE_CHECKING

from mvl.cli.parser import Parser, file_name, import_own_code
from mvl.cli.plans import add_options, carry_out, make_plan, named_task, split

if TYPE_CHECKING:
    from mvl.tasks import Task


def run(argv: list[str]) -> None:
    argv, rest = split(argv)
    parser = Parser(
        prog="mvl sweep",
        usage="mvl sweep --tasks TASK ... --recipes RECIPE ... [options] [-- SETTINGS OF MVL TRAIN]",
        description="Train every combination, and print one table. The same command continues what was stopped or killed.",
    )
    parser.add_argument("--tasks", nargs="+", required=True, help="for example pointmaze-medium-navigate, or data files")
    parser.add_argument(
        "--recipes", nargs="+", required=True, help="see `mvl recipes`; with settings of its own: vib-mvl+regularizer.samples=10"
    )
    parser.add_argument("--set", nargs="+", default=[], metavar="SETTING=V1,V2", help="values to try: regularizer.weight=1,10")
    parser.add_argument("--name", type=file_name, default="sweep", help="name of the table and of the files in --to")
    add_options(parser, seeds=1)
    options = parser.parse_all(argv)

    from mvl.studies.plan import Wanted, parse_grid, sweep_cells

    import_own_code(options)
    tasks = [named_task(name, options) for name in options.tasks]
    cells = sweep_cells(tasks, options.recipes, options.preset, parse_grid(options.set), Wanted(flags=rest))
    carry_out(make_plan(options.name, _title(tasks), cells, options), options)


def _title(tasks: "list[Task]") -> str:
    """What the table shows: success, or where no task has an environment, the measure that takes its place."""
    from mvl.evaluation.held_out.measures import BEST

    return f"{'success' if any(task.simulated for task in tasks) else BEST} by task and recipe"
