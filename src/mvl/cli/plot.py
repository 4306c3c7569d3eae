"""`mvl plot`: pictures of runs, one sub-command per kind of picture."""

import argparse
import sys
from pathlib import Path

from mvl.cli.parser import Parser, add_own_code, count, import_own_code, positive, seed
from mvl.errors import UsageError, unknown

KINDS = {
    "field": "Value contours over the maze with gradient arrows, walls, goals and played episodes; without a maze, the value "
    "along held-out episodes and over a projection of the data.",
    "graph": "The planner's graph over the maze: nodes, shortest paths to the goal, the planned path, its first sub-goal and "
    "played episodes.",
    "fan": "Distribution of the policy's directions, as fans along an episode it played (pointmaze); several runs side by side.",
    "curve": "Success over training, with 95 % intervals over seeds; several runs in one picture.",
    "shape": "What a regularizer does to the value: slopes per dimension, values along held-out episodes, clarity of the "
    "advantage and the regularizer's metrics; several runs in one picture.",
    "compare": "Value contours of several runs of one task for one goal, in a grid that is filled row by row.",
    "strip": "Stills of an episode at equal times, a row per run; a maze is drawn as a map with the path so far.",
    "gallery": "The first state of tasks (default: one of every family that can be built here), in a grid. Takes tasks, no runs.",
}
USAGE = "usage: mvl plot KIND RUN ...\n\n" + "\n".join(f"  {name:<10}{text}" for name, text in KINDS.items())


def run(argv: list[str]) -> None:
    if not argv or argv[0] in ("-h", "--help"):
        if not argv:
            raise UsageError(f"which picture? mvl plot {'|'.join(KINDS)} RUN ...")
        print(f"{USAGE}\n\n`mvl plot KIND --help` describes the options.")
        return
    kind = argv[0]
    if kind == "gallery":
        return _gallery(argv[1:])
    if kind not in KINDS:
        raise unknown("picture", kind, KINDS)
    options = _parser(kind).parse_all(argv[1:])
    import_own_code(options)
    to = options.to or options.runs[0] / f"{kind}.png"

    from mvl.plots.drawing import new_picture
    from mvl.runs.folder import RunFolder

    new_picture(to, options.overwrite)
    for path in options.runs:
        RunFolder.open(path)
    DRAW[kind](options, to)
    print(to)


def _parser(kind: str) -> Parser:
    parser = Parser(prog=f"mvl plot {kind}", description=KINDS[kind])
    parser.add_argument("runs", type=Path, nargs=1 if kind in ("field", "graph") else "+", metavar="RUN", help="run folder")
    parser.add_argument("-o", dest="to", type=Path, metavar="FILE", help=f"picture, .png or .svg (default: RUN/{kind}.png)")
    parser.add_argument("--overwrite", action="store_true", help="replace a picture that exists")
    add_own_code(parser)
    if kind in ("field", "graph"):
        parser.add_argument("--task", type=count, help="one of the maze's five tasks (default: all)")
        parser.add_argument("--episodes", type=count, default=4, help="episodes to play and draw per task")
    if kind in ("fan", "compare"):
        parser.add_argument("--task", type=count, default=1, help="which of the maze's five tasks")
    if kind == "fan":
        parser.add_argument("--waypoints", type=count, default=16, help="number of fans along the episode")
        parser.add_argument(
            "--temperature",
            type=positive,
            default=0.4,
            help="standard deviation of the actions of a normal policy, which is trained with 1",
        )
    if kind == "strip":
        parser.add_argument("--task", type=count, default=1, help="which of the evaluation goals")
        parser.add_argument("--frames", type=count, default=6, help="number of stills")
        parser.add_argument("--seed", type=seed, default=0, help="seed of the episode; `mvl eval` plays the same one")
    if kind == "compare":
        parser.add_argument("--rows", type=count, default=2, help="rows of the grid")
    return parser


def _field(options: argparse.Namespace, to: Path) -> None:
    from mvl.plots.episodes import value_along_episodes
    from mvl.plots.fields import picture
    from mvl.runs.folder import RunFolder

    (path,) = options.runs
    description = RunFolder.open(path)[1]
    if description.task.maze:
        picture(path, to, options.episodes, options.task, "none")
    elif options.task is not None:
        raise UsageError(f"{description.task} has no maze, so tasks cannot be drawn one by one; leave --task out.")
    else:
        value_along_episodes(path, to)


def _graph(options: argparse.Namespace, to: Path) -> None:
    from mvl.plots.fields import picture
    from mvl.runs.display import counting

    with counting("building the graph") as report:
        picture(options.runs[0], to, options.episodes, options.task, "graph", report)


def _fan(options: argparse.Namespace, to: Path) -> None:
    from mvl.plots.fans import fans

    fans(options.runs, to, options.task, options.waypoints, options.temperature)


def _curve(options: argparse.Namespace, to: Path) -> None:
    from mvl.plots.curves import curves

    curves(options.runs, to)


def _compare(options: argparse.Namespace, to: Path) -> None:
    from mvl.plots.grids import grid
    from mvl.runs.display import counting

    with counting("runs") as report:
        grid(options.runs, to, options.task, options.rows, report)


def _shape(options: argparse.Namespace, to: Path) -> None:
    from mvl.plots.shapes import shapes

    shapes(options.runs, to)


def _strip(options: argparse.Namespace, to: Path) -> None:
    from mvl.plots.strips import strip

    strip(options.runs, to, options.task, options.frames, options.seed)


def _gallery(argv: list[str]) -> None:
    """Draws tasks, and so has other arguments than pictures of runs."""
    parser = Parser(prog="mvl plot gallery", description=KINDS["gallery"])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="for example cube-single-play-v0")
    parser.add_argument("-o", dest="to", type=Path, default=Path("gallery.png"), metavar="FILE", help="picture, .png or .svg")
    parser.add_argument("--overwrite", action="store_true", help="replace a picture that exists")
    options = parser.parse_all(argv)

    from mvl.plots.drawing import new_picture
    from mvl.plots.gallery import gallery
    from mvl.runs.display import counting

    new_picture(options.to, options.overwrite)
    with counting("tasks") as report:
        left_out = gallery(options.tasks, options.to, report)
    for name, reason in left_out.items():
        print(f"mvl: {name} is not shown: {reason}", file=sys.stderr)
    print(options.to)


DRAW = {
    "field": _field,
    "graph": _graph,
    "fan": _fan,
    "curve": _curve,
    "compare": _compare,
    "shape": _shape,
    "strip": _strip,
}
