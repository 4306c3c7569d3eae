"""What `mvl reproduce`, `mvl sweep` and `mvl tune` share: how to carry a plan out, and where to."""

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from mvl.cli.parser import Parser
from mvl.errors import MvlError, UsageError

if TYPE_CHECKING:
    from mvl.sweep.go import Engine
    from mvl.sweep.plan import Cell, Plan

STORE = Path("runs/store")


def add_options(parser: Parser, seeds: int) -> None:
    what = parser.add_argument_group("size")
    what.add_argument("--preset", default="cpu", help="cpu (minutes a run on a laptop) or paper (the paper's sizes)")
    what.add_argument("--seeds", type=int, default=seeds, help="seeds of every cell")
    where = parser.add_argument_group("where")
    where.add_argument("--store", type=Path, default=STORE, help="folder of the runs; what is finished there is not done again")
    where.add_argument("--data", type=Path, help="folder of the datasets; what is missing is made or fetched")
    where.add_argument("--episodes", type=int, help="make datasets with fewer training episodes than the published ones")
    where.add_argument("--to", type=Path, metavar="FOLDER", help="also write the table there, as Markdown, CSV and LaTeX")
    how = parser.add_argument_group("how")
    how.add_argument("--dry-run", action="store_true", help="print the plan and the table as it stands, and stop")
    how.add_argument("--at-once", type=int, help="runs at a time (default: one per core or device)")


def split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Our own words, and those after `--`, which are settings of mvl train."""
    cut = argv.index("--") if "--" in argv else len(argv)
    return argv[:cut], argv[cut + 1 :]


def make_plan(name: str, title: str, cells: "list[Cell]", options: Namespace) -> "Plan":
    from mvl.sweep.plan import Plan

    if options.seeds < 1:
        raise UsageError("--seeds must be at least 1.")
    data = options.data.resolve() if options.data else None
    return Plan(name, title, cells, list(range(options.seeds)), options.store.resolve(), data, together=False)


def carry_out(plan: "Plan", options: Namespace) -> None:
    """Run it, show the table, write it where it was asked for; a failure of some runs is told last."""
    from mvl.sweep import go, table

    failed = go.carry_out(plan, go.Options(_engine(options), options.at_once, options.episodes, options.dry_run))
    found = table.results(plan)
    print(f"\n{table.text(plan, found)}")
    if options.to:
        print("\n".join(f"wrote {path}" for path in table.write(plan, found, options.to)))
    if failed:
        shown = "\n".join(f"  {job}: {reason}" for job, reason in failed.items())
        raise MvlError(f"{len(failed)} runs failed; the same command tries them again:\n{shown}")


def _engine(options: Namespace) -> "Engine | None":
    return None
