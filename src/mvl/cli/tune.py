"""`mvl tune`: choose between recipes, and settings of them, on one task."""

from mvl.cli.parser import Parser, import_own_code
from mvl.cli.plans import add_options, carry_out, make_plan, named_task, split
from mvl.errors import UsageError


def run(argv: list[str]) -> None:
    argv, rest = split(argv)
    parser = Parser(
        prog="mvl tune",
        usage="mvl tune TASK --recipes RECIPE ... [--knob SETTING=V1,V2 ...] [options] [-- SETTINGS OF MVL TRAIN]",
        description="Train some recipes with every combination of some settings, rank them, and write the best to a JSON file. "
        "For a fair comparison, use the choice on other tasks without tuning on them.",
    )
    parser.add_argument("task", metavar="TASK", help="for example pointmaze-medium-navigate, or a data file")
    parser.add_argument("--recipes", "--recipe", nargs="+", default=["gcivl-mvl"], help="see `mvl recipes`")
    parser.add_argument("--knob", nargs="+", default=[], metavar="SETTING=V1,V2", help="settings to try: regularizer.weight=1,10")
    parser.add_argument("--by", metavar="CRITERION", help=BY)
    add_options(parser, seeds=2)
    options = parser.parse_all(argv)

    from mvl.evaluation.held_out.measures import BEST
    from mvl.results import tuning
    from mvl.runs.display import counting
    from mvl.studies import records
    from mvl.studies.plan import Wanted, parse_grid, sweep_cells

    import_own_code(options)
    task = named_task(options.task, options)
    by = options.by or ("success" if task.simulated else BEST)
    cells = sweep_cells([task], options.recipes, options.preset, parse_grid(options.knob), Wanted(flags=rest))
    if len(cells) < 2:
        raise UsageError("there is nothing to choose from; give several --recipes, or several values of a setting with --knob.")
    tuning.check_criterion(by, [cell.experiment for cell in cells if cell.experiment])
    name = f"tune-{task.label}-{options.recipes[0] if len(options.recipes) == 1 else 'recipes'}"
    plan = make_plan(name, f"choosing by {by}", cells, options)
    choice = (options.to or plan.store) / f"{name}-by-{by}.json"
    found = carry_out(plan, options, choice)
    with counting("judging") as progress:
        ranked = tuning.ranking(found, by, progress)
    if ranked:
        print(f"\n{tuning.ranking_table(ranked, by).text()}")
    if not options.dry_run:
        if options.records:  # again, with the measures
            records.keep(sorted({seed.run for entry in ranked for seed in entry.result.seeds}), options.records)
        print(tuning.write_choice(plan, ranked, by, choice))


BY = (
    "rank by success, by validation (the loss on validation data, for one recipe), or by a held-out measure, which needs no "
    "environment: model-success, model-success-ahead, value-rises, value-rank, value-rank-across, advantage-error, action-error "
    "(default: success, or model-success without an environment)"
)
