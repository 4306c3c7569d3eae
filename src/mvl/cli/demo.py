"""`mvl demo`: generate data, train, evaluate and draw."""

from pathlib import Path

from mvl.cli.parser import Parser, count

TASK = "pointmaze-medium-navigate-v0"
RECIPE = "gcivl-slope"
SCHEDULE = {"steps": 30_000, "eval_every": 10_000}
"""Half of the preset's steps: seed 0 reaches all goals after 10,000 (README)."""


def run(argv: list[str]) -> None:
    parser = Parser(prog="mvl demo", description=f"Generate {TASK}, train {RECIPE} on it, plan, evaluate and draw.")
    parser.add_argument(
        "--run", type=Path, default=Path("runs/demo"), help="folder of the run; an earlier demo in it is continued"
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder for the dataset; it is kept and used again")
    parser.add_argument(
        "--steps", type=count, help=f"how long to train (default: {SCHEDULE['steps']}); an earlier demo can be lengthened"
    )
    options = parser.parse_all(argv)

    from mvl.cli.data import generate
    from mvl.errors import UsageError
    from mvl.plots.finish import finish
    from mvl.runs.folder import RunFolder
    from mvl.runs.training import resume, train

    if not all((options.data / f"{TASK}{part}.npz").exists() for part in ("", "-val")):
        generate([TASK, "--data", str(options.data)])  # continues if it was interrupted; never replaces existing files
    if options.run.exists():  # an earlier demo: continue it, or show its result again if it is finished
        earlier = RunFolder.open(options.run)[1]
        if (str(earlier.task), earlier.experiment.recipe_name) != (TASK, RECIPE):
            raise UsageError(f"{options.run} is not the run of a demo; choose another folder with --run.")
        print(finish(resume(options.run, steps=options.steps)))
        return
    schedule = {**SCHEDULE, **({"steps": options.steps} if options.steps else {})}
    print(finish(train(TASK, RECIPE, run=options.run, data=options.data, **schedule)))
