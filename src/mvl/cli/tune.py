"""`mvl tune`: choose some settings of a recipe on one task."""

from mvl.cli.parser import Parser, import_own_code
from mvl.cli.plans import add_options, carry_out, make_plan, playable, split


def run(argv: list[str]) -> None:
    argv, rest = split(argv)
    parser = Parser(
        prog="mvl tune",
        usage="mvl tune TASK --recipe RECIPE --knob SETTING=V1,V2 ... [options] [-- SETTINGS OF MVL TRAIN]",
        description="Train a recipe with every combination of some settings, rank them, and write the best one to a JSON file. "
        "For a fair comparison, use the choice on other tasks without tuning on them.",
    )
    parser.add_argument("task", metavar="TASK", help="for example pointmaze-medium-navigate")
    parser.add_argument("--recipe", default="gcivl-mvl", help="see `mvl recipes`")
    parser.add_argument(
        "--knob", nargs="+", required=True, metavar="SETTING=V1,V2", help="settings to try: regularizer.weight=1,10"
    )
    parser.add_argument(
        "--by", choices=("success", "validation"), default="success", help="rank by success, or by the loss on validation data"
    )
    add_options(parser, seeds=2)
    options = parser.parse_all(argv)

    from mvl.results import tuning
    from mvl.studies.plan import Wanted, parse_grid, sweep_cells

    import_own_code(options)
    task = playable(options.task, options.env)
    cells = sweep_cells([task], [options.recipe], options.preset, parse_grid(options.knob), Wanted(flags=rest))
    name = f"tune-{task.label}-{options.recipe}"
    plan = make_plan(name, f"choosing by {options.by}", cells, options)
    choice = (options.to or plan.store) / f"{name}-by-{options.by}.json"
    found = carry_out(plan, options, choice)
    ranked = tuning.ranking(found, options.by)
    if ranked:
        print(f"\n{tuning.ranking_table(ranked, options.by).text()}")
    if not options.dry_run:
        print(tuning.write_choice(plan, ranked, options.by, choice))
