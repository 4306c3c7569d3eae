"""`mvl bench`: how fast this is here, against the machine's own matrix products and against bars."""

import json
from dataclasses import asdict
from pathlib import Path

from mvl.cli.parser import Parser


def run(argv: list[str]) -> None:
    parser = Parser(prog="mvl bench", description="Time steps, evaluation and start-up in ratios; best on a quiet machine.")
    parser.add_argument("--to", type=Path, metavar="FILE.json", help="write every figure here")
    parser.add_argument("--picture", type=Path, metavar="FILE.png", help="and draw them")
    parser.add_argument("--only", choices=("bars", "growth", "recipes"), help="one part instead of all three")
    parser.add_argument("--compare", nargs=2, type=Path, metavar="FILE.json", help="show two results side by side instead")
    parser.add_argument("--table", type=Path, metavar="FILE.json", help="show a result as a Markdown table instead")
    options = parser.parse_all(argv)
    if options.table:
        from mvl.bench.picture import table

        print(table(options.table))
        return
    if options.compare:
        from mvl.bench.picture import compare

        print(compare(*options.compare))
        return
    figures = _measured(options.only)
    if options.to:
        options.to.write_text(json.dumps(figures, indent=1) + "\n")
    if options.picture:
        from mvl.bench.picture import draw

        draw(figures, options.picture)


def _measured(only: str | None) -> dict[str, object]:
    import tempfile

    from mvl.bench.bars import all_bars
    from mvl.bench.growth import growth, recipes
    from mvl.bench.machine import million_rows
    from mvl.learn.spread import core_numbers
    from mvl.runs.folder import versions

    cores = core_numbers()
    say = lambda line: print(line, flush=True)
    figures: dict[str, object] = {"versions": versions(), "cores": len(cores), "bars": [], "growth": {}, "recipes": {}}
    if only in (None, "bars"):
        with tempfile.TemporaryDirectory() as folder:
            bars, figures["behind"] = all_bars(million_rows(Path(folder)), cores, lambda bar: say(str(bar)))
        figures["bars"] = [{**asdict(bar), "passes": bar.passes} for bar in bars]
    if only in (None, "growth"):
        figures["growth"] = growth(say)
    if only in (None, "recipes"):
        figures["recipes"] = recipes(say)
    return figures
