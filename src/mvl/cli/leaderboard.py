"""`mvl leaderboard`: success from records of runs and from publications in one table."""

from pathlib import Path
from typing import Any

from mvl.cli.parser import Parser


def run(argv: list[str]) -> None:
    parser = Parser(
        prog="mvl leaderboard",
        description="List success on every task, from records of runs and from publications, with steps, sizes, protocol and "
        "time beside each number.",
    )
    files: dict[str, Any] = {"type": Path, "nargs": "+", "default": [], "action": "extend"}
    parser.add_argument("--records", **files, metavar="FILE.jsonl", help="records of runs, as `mvl sweep --records` writes them")
    parser.add_argument(
        "--published", **files, metavar="FILE.csv", help="further published numbers: task, method, success, source and more"
    )
    parser.add_argument("--tasks", nargs="+", default=[], help="only these tasks")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="write leaderboard.md and leaderboard.csv there")
    parser.add_argument("--overwrite", action="store_true", help="replace existing files in --to")
    options = parser.parse_all(argv)

    from mvl.errors import UsageError
    from mvl.files import new_files
    from mvl.results import leaderboard
    from mvl.studies import records

    for file in options.records:
        if not file.is_file():
            raise UsageError(f"{file} does not exist; name a file that `mvl sweep --records` wrote.")
    new_files([options.to / f"leaderboard.{ending}" for ending in ENDINGS] if options.to else [], options.overwrite)
    entries = [entry for file in options.records for entry in leaderboard.entries_of_records(records.read(file), "our runs")]
    entries += leaderboard.entries_of_paper()
    for file in (leaderboard.PUBLISHED, *options.published):
        entries += leaderboard.entries_of_file(file)
    table = leaderboard.leaderboard(entries, options.tasks)
    if options.to:
        print("\n".join(f"wrote {path}" for path in table.write(options.to, "leaderboard", ENDINGS)))
    else:
        print(table.text())


ENDINGS = ("md", "csv")
