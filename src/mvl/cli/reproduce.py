"""`mvl reproduce`: train the runs of a table of the paper."""

from mvl.cli.parser import Parser, import_own_code
from mvl.cli.plans import add_options, carry_out, make_plan, split


def run(argv: list[str]) -> None:
    argv, rest = split(argv)
    parser = Parser(
        prog="mvl reproduce",
        usage="mvl reproduce TABLE [options] [-- SETTINGS OF MVL TRAIN]",
        description="Train the runs of a table of the paper, and print ours beside the paper's. The same command continues "
        "what was stopped or killed. For example: mvl reproduce table3b --seeds 2 -- --steps 10000",
    )
    parser.add_argument("table", metavar="TABLE", help="table1, table2, table3a, table3b, table7, table8, table9 or table10")
    parser.add_argument("--rows", nargs="+", default=[], help="only these rows; tasks that are not in the table may be added")
    parser.add_argument(
        "--columns", nargs="+", default=[], help="only these columns; recipes that are not in the table may be added"
    )
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="SETTING=VALUE",
        help="change a setting in every recipe that has it: mollified.weight=3",
    )
    parser.add_argument(
        "--protocol",
        choices=("paper", "source"),
        default="paper",
        help="source: table 2's EIK-HIQL (and HIQL) as first published, the best evaluation after 100k steps on point mazes",
    )
    add_options(parser, seeds=4, preset="cpu")
    options = parser.parse_all(argv)

    from mvl.errors import UsageError
    from mvl.recipes import paper
    from mvl.studies.plan import Wanted, paper_cells, parse_grid

    import_own_code(options)

    grid = parse_grid(options.set)
    for name, values in grid.items():
        if len(values) > 1:
            raise UsageError(f"--set {name} takes one value here; for several use mvl sweep.")
    wanted = Wanted({name: values[0] for name, values in grid.items()}, rest)
    about = paper.named(options.table)
    cells = paper_cells(options.table, options.rows, options.columns, options.preset, wanted, options.protocol == "source")
    carry_out(make_plan(options.table, about.title, cells, options), options)
