"""`mvl bench`: speed on this machine, relative to its matrix products, and whether required limits (bars) hold."""

import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from mvl.cli.parser import Parser


def run(argv: list[str]) -> None:
    parser = Parser(
        prog="mvl bench",
        description="Measure steps, evaluation and start-up relative to the speed of this machine, which should be idle.",
    )
    parser.add_argument("--to", type=Path, metavar="FILE.json", help="write all measurements here")
    parser.add_argument("--picture", type=Path, metavar="FILE.png", help="draw the measurements here (.png or .svg)")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    parser.add_argument(
        "--only",
        choices=("bars", "growth", "recipes"),
        help="measure only this: limits that must hold (bars), time by size (growth), or time by recipe",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--compare", nargs=2, type=Path, metavar="FILE.json", help="print two results side by side; measure nothing"
    )
    shown.add_argument("--table", type=Path, metavar="FILE.json", help="print a result as a Markdown table; measure nothing")
    options = parser.parse_all(argv)
    if options.table or options.compare:
        _show(options, parser)
        return
    _check_targets(options)
    figures = _measured(options.only)
    if options.to:
        from mvl.files import atomic

        with atomic(options.to) as partial:
            partial.write_text(json.dumps(figures, indent=1) + "\n")
    if options.picture:
        from mvl.bench.picture import draw

        draw(figures, options.picture)


def _show(options: Namespace, parser: Parser) -> None:
    """Print earlier results."""
    from mvl.bench.picture import compare, table

    if options.to or options.picture or options.only:
        parser.error("--table and --compare print earlier results, so --to, --picture and --only cannot be combined with them")
    print(table(options.table) if options.table else compare(*options.compare))


def _check_targets(options: Namespace) -> None:
    """Refuse files that exist before anything is measured."""
    from mvl.files import new_files

    if options.picture:
        from mvl.plots.drawing import new_picture

        new_picture(options.picture, options.overwrite)
    new_files(filter(None, (options.to, options.picture)), options.overwrite)


def _measured(only: str | None) -> dict[str, object]:
    """All measurements, or only one kind, as JSON; prints each when it is made."""

    from mvl.bench.bars import all_bars
    from mvl.bench.growth import growth, recipes
    from mvl.bench.machine import million_rows
    from mvl.files import scratch_folder
    from mvl.machine import core_numbers
    from mvl.runs.folder import versions

    cores = core_numbers()
    report: Callable[[str], None] = lambda line: print(line, flush=True)
    figures: dict[str, object] = {"versions": versions(), "cores": len(cores), "bars": [], "growth": {}, "recipes": {}}
    if only in (None, "bars"):
        with scratch_folder() as folder:
            bars, figures["behind"] = all_bars(million_rows(Path(folder)), cores, lambda bar: report(str(bar)))
        figures["bars"] = [{**asdict(bar), "passes": bar.passes} for bar in bars]
    if only in (None, "growth"):
        figures["growth"] = growth(report)
    if only in (None, "recipes"):
        figures["recipes"] = recipes(report)
    return figures
