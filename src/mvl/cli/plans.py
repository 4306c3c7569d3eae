"""Options that `mvl reproduce`, `mvl sweep` and `mvl tune` share, and carrying out their plans."""

from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mvl.cli import extra_tables
from mvl.cli.parser import Parser, add_env, add_own_code, count, not_negative, own_task, share
from mvl.errors import MvlError, UsageError
from mvl.files import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mvl.results.comparison import Style
    from mvl.results.results import Result
    from mvl.results.table import Table
    from mvl.studies.engines import Engine
    from mvl.studies.plan import Cell, Plan
    from mvl.tasks import Task

STORE = Path("runs/store")


def add_options(parser: Parser, seeds: int, preset: str = "laptop") -> None:
    """Add the shared options; `seeds` and `preset` are defaults."""
    what = parser.add_argument_group("size")
    what.add_argument("--preset", default=preset, help="laptop (minutes), cpu (as in the committed results) or paper (its sizes)")
    what.add_argument("--seeds", type=count, default=seeds, help="seeds per cell of the table")
    own = parser.add_argument_group("your own")
    add_env(own, "Gymnasium environment to evaluate policies of data files in")
    own.add_argument("--held-out", type=share, help="hold out this share of the episodes instead of a -val file")
    add_own_code(own)
    where = parser.add_argument_group("where")
    where.add_argument("--store", type=Path, default=STORE, help="folder of the runs; finished ones are not trained again")
    where.add_argument(
        "--records",
        type=Path,
        metavar="FILE.jsonl",
        help="also keep finished runs in this file, one line each, without weights; runs found in it are not trained again",
    )
    where.add_argument("--data", type=Path, help="folder of the datasets; missing ones are generated or downloaded")
    where.add_argument(
        "--episodes", type=count, help="training episodes of generated datasets (default: as many as the published ones have)"
    )
    where.add_argument(
        "--to", type=Path, metavar="FOLDER", help="also write the table there, as Markdown, CSV, LaTeX and a picture"
    )
    where.add_argument(
        "--overwrite", action="store_true", help="replace existing files in --to, lines of --records, and the file of --report"
    )
    extra_tables.add_options(where)
    where.add_argument("--report", type=Path, metavar="FILE.html", help="also write an HTML report on all runs of the table")
    _add_form(parser)
    how = parser.add_argument_group("how")
    how.add_argument("--dry-run", action="store_true", help="print the plan and the table as it stands; run and write nothing")
    how.add_argument(
        "--engine",
        choices=("local", "ray", "slurm"),
        default="local",
        help="run as processes of this machine, on Ray, or on SLURM",
    )
    how.add_argument("--address", help="address of a Ray cluster; auto: the one of this machine (default: start a new one)")
    how.add_argument(
        "--gpus-per-run", type=not_negative, default=0, help="GPUs per run (Ray, SLURM); such a run trains all seeds"
    )
    how.add_argument(
        "--slurm", nargs="+", default=[], metavar="NAME=VALUE", help="parameters for submitit, such as slurm_partition=gpu"
    )
    how.add_argument("--at-once", type=count, help="runs at the same time on this machine (default: one per core or device)")


def _add_form(parser: Parser) -> None:
    """Add the options for how the table is printed."""
    form = parser.add_argument_group("form of the table")
    form.add_argument(
        "--uncertainty",
        choices=("interval", "std"),
        default="interval",
        help="what stands beside a mean: Student's 95 %% interval, or the standard deviation over seeds as in the paper",
    )
    form.add_argument("--highlight", action="store_true", help="mark the best results of each row as the paper does")


def split(argv: list[str]) -> tuple[list[str], list[str]]:
    """The arguments before `--`, and those after it, which are settings of `mvl train`."""
    at = argv.index("--") if "--" in argv else len(argv)
    return argv[:at], argv[at + 1 :]


def named_task(name: str, options: Namespace) -> "Task":
    """The task of this name, or of a data file: with the environment that the options name, or without one."""
    if not name.endswith(".npz"):
        return own_task(name, None)
    return own_task(str(Path(name).resolve()), options.env, options.goals)


def make_plan(name: str, title: str, cells: "list[Cell]", options: Namespace) -> "Plan":
    """The plan of these cells with the seeds and folders of the options."""
    from mvl.studies.plan import Plan

    data = options.data.resolve() if options.data else None
    cells = [_held_out(cell, options.held_out) for cell in cells]
    return Plan(name, title, cells, list(range(options.seeds)), options.store.resolve(), data, bool(options.gpus_per_run))


def _held_out(cell: "Cell", share: float | None) -> "Cell":
    """The cell with this share of the episodes held out for validation, if a share is given."""
    if share is None:
        return cell
    return replace(cell, experiment=replace(cell.experiment, data=replace(cell.experiment.data, held_out=share)))


def carry_out(plan: "Plan", options: Namespace, choice: Path | None = None) -> "list[Result]":
    """Run the plan, print the table and write the files that the options name; an error at the end lists failed runs.

    Existing files are refused before anything runs; `choice` is one that the caller will write. A dry run writes nothing.
    """
    from mvl.results.comparison import comparison
    from mvl.results.results import results
    from mvl.studies import execution

    engine = _engine(options)
    extra_tables.check_variants(plan, options.variants)
    targets = _targets(plan, options) + ([choice] if choice else [])
    if options.dry_run:
        return _dry_run(plan, options, engine, targets)
    _prepare(plan, options, targets)
    failed = execution.carry_out(plan, execution.Options(engine, options.at_once, options.episodes))
    found = results(plan)
    table = comparison(plan, found, _style(options))
    print(f"\n{table.text()}")
    _write(plan, found, table, options)
    if failed:
        reasons = "\n".join(f"  {job}: {reason}" for job, reason in failed.items())
        again = " with --overwrite" if _targets(plan, options) and not options.overwrite else ""
        raise MvlError(f"{len(failed)} runs failed; the same command{again} tries them again:\n{reasons}")
    return found


def _dry_run(plan: "Plan", options: Namespace, engine: "Engine | None", targets: list[Path]) -> "list[Result]":
    """Print the plan, the table as it stands and the files that would be written; records count, but the store stays as it is."""
    from mvl.results.comparison import comparison
    from mvl.results.results import results
    from mvl.studies import execution, records

    with scratch_folder() as folder:
        if options.records:
            records.take_in(records.read(options.records), Path(folder), plan.experiments)
            plan = replace(plan, unpacked=Path(folder))
        with execution.preview(plan, execution.Options(engine, options.at_once)) as outlook:
            found = results(plan)
            print(f"\n{comparison(plan, found, _style(options)).text()}")
            files = (f"would {'replace' if path.exists() else 'write'} {path}" for path in targets)
            execution.print_now("\n".join(["", "dry run: nothing was run or written", *files]))
            if outlook:
                outlook.refine(execution.print_now)
    return found


def _style(options: Namespace) -> "Style":
    from mvl.results.comparison import Style

    return Style(options.uncertainty == "std", options.highlight)


def _targets(plan: "Plan", options: Namespace) -> list[Path]:
    """The files that `_write` writes, without that of --records."""
    names = [f"{plan.name}.{ending}" for ending in ("md", "csv", "tex", "png")] + extra_tables.file_names(plan, options)
    return [options.to / name for name in names if options.to] + ([options.report] if options.report else [])


def _prepare(plan: "Plan", options: Namespace, targets: list[Path]) -> None:
    """Refuse to replace existing files, then take finished runs from the records into the store."""
    from mvl.files import new_files, writable_folder
    from mvl.studies import damage, records
    from mvl.studies.display import warn

    new_files(targets, options.overwrite)
    writable_folder(plan.store)
    if options.records:
        known = records.read(options.records)
        writable_folder(options.records.parent)
        damage.set_aside(plan.experiments, plan.store, warn)  # before records are taken in: one may replace a damaged run
        if not options.overwrite:
            records.check_equal(known, plan.store, plan.experiments)
        if taken := records.take_in(known, plan.store, plan.experiments):
            print(f"took in {taken} finished runs from {options.records}")


def _write(plan: "Plan", found: "list[Result]", table: "Table", options: Namespace) -> None:
    """Print and write everything that the options ask for besides the table on the terminal."""
    from mvl.plots import table as picture
    from mvl.studies import records

    if options.to:
        _print_written([*table.write(options.to, plan.name), picture.write(plan, found, options.to)])
    for kind, extra in extra_tables.extra_tables(plan, found, options):
        print(f"\n{extra.text()}" if extra.rows else extra.text())
        if options.to and extra.rows:
            _print_written(extra.write(options.to, f"{plan.name}-{kind}", extra_tables.ENDINGS))
    runs = sorted({seed.run for result in found for seed in result.seeds})
    if options.records:
        print(f"keeping {records.keep(runs, options.records)} finished runs in {options.records}")
    if options.report:
        _report(runs, options.report)


def _print_written(paths: "Sequence[Path]") -> None:
    print("\n".join(f"wrote {path}" for path in paths))


def _report(runs: list[Path], to: Path) -> None:
    """Write the HTML report, without videos: they take longest, and a table has many runs."""
    if not runs:
        raise UsageError("no run is finished yet, so there is nothing to report; train some runs first.")

    from mvl.cli.report import run

    run([*map(str, runs), "--to", str(to), "--no-videos", "--overwrite"])  # the file was checked before the runs


def _engine(options: Namespace) -> "Engine | None":
    """The engine that the options name, None for processes on this machine."""
    for name, engine in (("address", "ray"), ("slurm", "slurm")):
        if getattr(options, name) and options.engine != engine:
            raise UsageError(f"--{name} is for --engine {engine}.")
    if options.engine == "local":
        if options.gpus_per_run:
            raise UsageError(
                "--gpus-per-run is for --engine ray or slurm; on this machine every run has a core or device of its own."
            )
        return None
    if options.at_once:
        raise UsageError(
            f"--at-once is for --engine local; leave it out with --engine {options.engine}, which schedules the runs itself."
        )
    if options.engine == "ray":
        from mvl.studies.engines import ray

        return partial(ray.run, address=options.address, gpus_per_run=options.gpus_per_run)
    if options.gpus_per_run % 1:
        raise UsageError(f"--gpus-per-run must be a whole number for SLURM, not {options.gpus_per_run}; Ray can share a GPU.")

    from mvl.studies.engines import slurm
    from mvl.studies.plan import parse_grid

    settings = {name: ",".join(values) for name, values in parse_grid(options.slurm).items()}
    folder = options.store.resolve() / "slurm"
    return partial(slurm.run, folder=folder, gpus_per_run=options.gpus_per_run, settings=settings)
