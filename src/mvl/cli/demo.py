"""`mvl demo`: generate data, train, evaluate, draw."""

from pathlib import Path

from mvl.cli.parser import Parser, count

TASK = "pointmaze-medium-navigate-v0"
RECIPE = "hiql-mvl"
DISCOUNT, STEPS = 0.995, 40_000
"""A longer horizon and a longer run than the `cpu` preset's, for the task that leads all around the maze (docs/results)."""


def run(argv: list[str]) -> None:
    parser = Parser(prog="mvl demo", description=f"Generate {TASK}, train {RECIPE} on it, evaluate and draw its value.")
    parser.add_argument("--run", type=Path, default=Path("runs/demo"), help="folder to make; an earlier demo there is continued")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder for the dataset; it is kept and used again")
    parser.add_argument("--steps", type=count, help=f"how long to train (default: {STEPS}); an earlier demo can be lengthened")
    options = parser.parse_all(argv)

    from mvl.cli.data import generate
    from mvl.errors import UsageError
    from mvl.plots.finish import finish
    from mvl.runs.folder import RunFolder
    from mvl.runs.training import resume, train

    if not all((options.data / f"{TASK}{part}.npz").exists() for part in ("", "-val")):
        generate([TASK, "--data", str(options.data)])  # goes on after an interruption, and replaces no file of others
    if options.run.exists():  # an earlier demo: go on where it was stopped, or show again what it gave
        earlier = RunFolder.open(options.run)[1]
        if (str(earlier.task), earlier.experiment.recipe_name) != (TASK, RECIPE):
            raise UsageError(f"{options.run} holds something other than a demo; choose another folder with --run.")
        print(finish(resume(options.run, steps=options.steps)))
        return
    steps = options.steps or STEPS
    print(finish(train(TASK, RECIPE, preset="cpu", run=options.run, data=options.data, discount=DISCOUNT, steps=steps)))
