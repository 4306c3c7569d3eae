"""`mvl view`: watch a run's policy in 3-D, in a browser."""

from pathlib import Path

from mvl.cli.parser import Parser, add_own_code, count, import_own_code, port, seed


def run(argv: list[str]) -> None:
    parser = Parser(prog="mvl view", description="Serve a page on which a browser shows a run's policy in 3-D.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folder; a second run is shown beside the first")
    parser.add_argument("--episodes", type=count, default=1, help="episodes of each task")
    parser.add_argument("--seed", type=seed, default=0, help="seed of the episodes; `mvl eval` plays the same ones")
    parser.add_argument(
        "--plan", choices=("none", "graph"), help="planner that gives the policy its sub-goals (default: as in training)"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen at; the default can be reached only from this machine"
    )
    parser.add_argument("--port", type=port, help="port to listen at (default: 8080, or the next free one)")
    add_own_code(parser)
    options = parser.parse_all(argv)
    import_own_code(options)

    import sys

    from mvl.errors import MvlError, UsageError
    from mvl.extras import check_simulators, missing

    absent = missing("viser", "trimesh")
    if absent:
        raise MvlError(f"the viewer needs {' and '.join(absent)}; install with: pip install 'mollified-value-learning[view]'")
    check_simulators("the viewer", ("gymnasium", "mujoco"))
    if len(options.runs) > 2:
        raise UsageError(f"at most two runs can be shown side by side; {len(options.runs)} were given.")

    import time

    from mvl.deploy.viewer.access import LOOPBACK
    from mvl.deploy.viewer.page import TICKS, Page, address, serving
    from mvl.deploy.viewer.recording import check, record
    from mvl.runs.display import counting

    check(options.runs)
    with serving(options.host, options.port) as server:
        recordings = []
        for path in options.runs:
            with counting(f"playing {path}, steps at most") as report:
                recordings.append(record(path, options.episodes, options.seed, report, options.plan))
        page = Page(server, recordings)
        if options.host not in LOOPBACK:
            print(f"mvl: anyone who can reach {options.host} can watch and control this page.", file=sys.stderr)
        print(f"{address(server)} (stop with Ctrl-C)", flush=True)
        while True:
            page.tick()
            time.sleep(1 / TICKS)
