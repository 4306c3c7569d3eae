"""`mvl train`: train a recipe on a task; every setting of every part is a flag."""

import contextlib
import io
from argparse import BooleanOptionalAction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvl.cli.parser import Parser, add_env, add_own_code, count, import_own_code, natural, own_task, seed, share
from mvl.errors import UsageError
from mvl.extras import TRACKERS

if TYPE_CHECKING:
    from mvl.experiment import Experiment

AXES = ("representation", "regularizer", "value", "policy", "encoder")
GIVEN_BY_PARENT = ("recipe", "preset", *AXES, "env", "seeds", "first_seed", "data", "out_of_core")
"""Options that a run started from another may not have."""


def parser() -> Parser:
    """The options of `mvl train`, without the settings of the recipe's parts."""
    usage = "mvl train TASK [options]\n       mvl train --resume RUN\n       mvl train MORE.npz --from RUN"
    made = Parser(prog="mvl train TASK", add_help=False, usage=usage)
    choice = made.add_argument_group("what to train")
    choice.add_argument("--recipe", default="gcivl-mvl", help="see `mvl recipes`")
    choice.add_argument(
        "--preset", default="laptop", help="laptop (minutes), cpu (as in the committed results) or paper (its sizes)"
    )
    for axis in AXES:
        choice.add_argument(
            f"--{axis}", metavar="NAME", help=f"use this {axis} instead of the recipe's; your own as module:Class"
        )
    add_env(choice, "Gymnasium environment to evaluate a data file's policy in")
    add_own_code(choice)
    _add_run(made)
    many = made.add_argument_group("several devices")
    many.add_argument("--devices", type=count, metavar="N", help="split every batch over N devices, counted over all processes")
    many.add_argument("--coordinator", metavar="HOST:PORT", help="address of process 0, to train one run with several processes")
    many.add_argument("--processes", type=count, metavar="P", help="number of processes")
    many.add_argument("--process-id", type=natural, metavar="I", help="index of this process; process 0 evaluates and writes")
    return made


def _add_run(made: Parser) -> None:
    """Add the options about the run: its folder, its seeds and data, and the run it continues or starts from."""
    run = made.add_argument_group("the run")
    run.add_argument("--run", type=Path, help="new folder for the run (default: runs/TASK-RECIPE)")
    run.add_argument("--seeds", type=count, default=1, help="number of seeds to train in this run")
    run.add_argument("--first-seed", type=seed, default=0, help="number of the first seed")
    run.add_argument("--data", type=Path, help="folder of the datasets")
    run.add_argument("--held-out", type=share, help="fraction of the episodes to hold out for validation, instead of a -val file")
    run.add_argument(
        "--out-of-core",
        "--mapped",
        dest="out_of_core",
        action=BooleanOptionalAction,
        help="keep the data on disk while training (default: if it does not fit in memory)",
    )
    run.add_argument("--workers", type=count, help="evaluation processes (default: one per core)")
    run.add_argument(
        "--track",
        action="append",
        choices=(*TRACKERS, "none"),
        help="also show the run in this tracker; may be given several times (default: none; with --resume, those it had)",
    )
    run.add_argument(
        "--resume", type=Path, metavar="RUN", help="continue this run from its last checkpoint; --steps may lengthen it"
    )
    run.add_argument(
        "--from",
        dest="start_from",
        type=Path,
        metavar="RUN",
        help="start from this trained run: TASK is a file with more demonstrations, which are added to its own",
    )


def run(argv: list[str]) -> None:
    task = argv[0] if argv and not argv[0].startswith("-") else None
    options, settings = parser().parse_known_args(argv[1:] if task else argv)
    import_own_code(options)
    if options.resume is not None:
        _resume(options, task, settings)
        return
    if {"-h", "--help"} & set(settings):
        print(_help(options, task))
        return
    if options.start_from is not None:
        _start_from(options, task, settings)
        return
    if task is None:
        raise UsageError("which task? mvl train TASK, for example: mvl train pointmaze-medium-navigate-v0")
    experiment = _experiment(options, task, settings)

    from mvl.plots.finish import finish
    from mvl.runs.distributed import joined
    from mvl.runs.training import train_experiment

    with joined(options.coordinator, options.processes, options.process_id) as first:
        path = train_experiment(experiment, options.run, options.workers, options.devices, options.track or ())
    if first:
        print(finish(path))


def _start_from(options: Any, task: str | None, words: list[str]) -> None:
    if task is None or not task.endswith(".npz"):
        raise UsageError("--from takes more demonstrations from a file: mvl train MORE.npz --from RUN")
    for name in GIVEN_BY_PARENT:
        if getattr(options, name) != parser().get_default(name):
            raise UsageError(f"a run that starts from another has its {name.replace('_', '-')} already; leave out that option.")

    from dataclasses import replace

    from mvl.plots.finish import finish
    from mvl.runs.distributed import joined
    from mvl.runs.folder import RunFolder
    from mvl.runs.more import train_on

    start_from = options.start_from
    experiment = RunFolder.open(start_from)[1].experiment
    recipe, schedule = experiment.configured.parsed(words, prog=f"mvl train {task} --from {start_from}")
    changed = replace(experiment, recipe=recipe, schedule=schedule)
    hardware = options.workers, options.devices, options.track or ()
    with joined(options.coordinator, options.processes, options.process_id) as first:
        path = train_on(start_from, Path(task), changed, options.run, options.held_out, *hardware)
    if first:
        print(finish(path))


def _resume(options: Any, task: str | None, settings: list[str]) -> None:
    extra = Parser(prog="mvl train --resume RUN")
    extra.add_argument("--steps", type=count)
    steps = extra.parse_all(settings).steps
    if task is not None:
        raise UsageError("a resumed run has its task already; give only: mvl train --resume RUN")

    from mvl.plots.finish import finish
    from mvl.runs.distributed import joined
    from mvl.runs.training import resume

    with joined(options.coordinator, options.processes, options.process_id) as first:
        path = resume(options.resume, steps=steps, workers=options.workers, devices=options.devices, track=options.track)
    if first:
        print(finish(path))


def _experiment(options: Any, task: str | None, words: list[str]) -> "Experiment":
    """The experiment that the options and the settings describe; without a task (for --help), that of an empty task."""
    from dataclasses import replace

    from mvl.experiment import DataOptions, Experiment
    from mvl.tasks import Task

    base = Experiment.from_preset(
        own_task(task, options.env, options.goals) if task else Task(),
        options.recipe,
        options.preset,
        parts={axis: getattr(options, axis) for axis in AXES if getattr(options, axis)},
        seeds=range(options.first_seed, options.first_seed + options.seeds),
        data=DataOptions(options.data, options.held_out, options.out_of_core),
    )
    recipe, schedule = base.configured.parsed(words, prog=f"mvl train {task or 'TASK'}")
    return replace(base, recipe=recipe, schedule=schedule)


def _help(options: Any, task: str | None) -> str:
    """The help text: the options, then the settings of the chosen recipe and parts."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        _experiment(options, task, ["--help"])
    return f"{parser().format_help()}\nSettings of recipe {options.recipe} at preset {options.preset}:\n{text.getvalue()}"
