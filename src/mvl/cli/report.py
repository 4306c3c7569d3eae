"""`mvl report`: one HTML file about runs, with everything embedded."""

from pathlib import Path

from mvl.cli.parser import Parser, add_own_code, import_own_code


def run(argv: list[str]) -> None:
    parser = Parser(prog="mvl report", description="Write one HTML file about runs: success, curves, values, videos, settings.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders; several are compared")
    parser.add_argument("-o", "--to", type=Path, default=Path("report.html"), metavar="FILE.html", help="file to write")
    parser.add_argument("--no-videos", action="store_true", help="leave out the videos, which take longest to make")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")
    add_own_code(parser)
    options = parser.parse_all(argv)
    import_own_code(options)

    from mvl.files import new_file

    new_file(options.to, options.overwrite)

    from mvl.report.page import report
    from mvl.runs.display import counting

    with counting("report") as progress:
        report(options.runs, options.to, not options.no_videos, lambda fraction: progress(int(100 * fraction), 100))
    print(f"{options.to}: {options.to.stat().st_size / 1e6:.1f} MB")
