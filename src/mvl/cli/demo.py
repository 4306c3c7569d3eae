"""`mvl demo`: generate data, train, evaluate and draw."""

from pathlib import Path

from mvl.cli.parser import Parser, count

TASK = "pointmaze-medium-navigate-v0"
RECIPE = "hiql-mvl"
DISCOUNT, STEPS = 0.995, 40_000
"""Both higher than in the `cpu` preset: one of the maze's tasks has a long way to its goal (docs/results)."""


def run(argv: list[str]) -> None:
    parser = Parser(prog="mvl demo", description=f"Generate {TASK}, train {RECIPE} on it, evaluate and draw its value.")
    parser.add_argument(
        "--run", type=Path, default=Path("runs/demo"), help="folder of the run; an earlier demo in it is continued"
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder for the dataset; it is kept and used again")
    parser.add_argument("--steps", type=count, help=f"how long to train (default: {STEPS}); an earlier demo can be lengthened")
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
    steps = options.steps or STEPS
    print(finish(train(TASK, RECIPE, preset="cpu", run=options.run, data=options.data, discount=DISCOUNT, steps=steps)))
