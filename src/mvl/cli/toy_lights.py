"""`mvl toy lights`: deep Q-learning on Lights-Out, on distances to anchors and on the lights themselves."""

from argparse import ArgumentTypeError
from pathlib import Path

from mvl.cli.parser import Parser, count

ABOUT = """Learn Lights-Out from random play by goal-conditioned deep Q-learning, twice: boards are seen as their exact distances
to 64 random ones, the anchors (the dual representation), or as lights. A goal is any board; an action toggles a light and those
beside it. Prints the success of the greedy policy, and how well the order of the learned values fits the exact distances."""
STEPS_PER_CALL = 100


def run(argv: list[str]) -> None:
    parser = Parser(prog="mvl toy lights", description=ABOUT)
    parser.add_argument("--board", type=_size, default="3x3", metavar="ROWSxCOLUMNS", help="size of the board")
    parser.add_argument("--seeds", type=count, default=3, help="seeds 0, 1, 2, ... of the networks, on the same data")
    parser.add_argument("--steps", type=count, default=10_000, help="training steps of each network")
    parser.add_argument("--to", type=Path, metavar="FILE", help="draw an episode and the values here (.png or .svg)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    options = parser.parse_all(argv)
    if options.steps % STEPS_PER_CALL:
        parser.error(f"argument --steps: must be a multiple of {STEPS_PER_CALL}, not {options.steps}")

    from mvl.files import new_files, write_json
    from mvl.plots.drawing import new_picture
    from mvl.runs.display import counting
    from mvl.toy.lights.board import Board
    from mvl.toy.lights.figure import draw, table, to_json
    from mvl.toy.lights.learning import all_learned, puzzle

    board = Board(*options.board)
    if options.to:
        new_picture(options.to, options.overwrite)
    new_files(filter(None, (options.to, options.json)), options.overwrite)
    made = puzzle(board)
    with counting("training") as report:
        found = all_learned(made, range(options.seeds), options.steps, report)
    print(table(made, found).text())
    if options.to:
        draw(made, found, options.to)
    if options.json:
        write_json(to_json(made, found, options.steps), options.json)


def _size(text: str) -> tuple[int, int]:
    """Rows and columns from a text such as 3x3."""
    rows, _, columns = text.partition("x")
    if not (rows.isdecimal() and columns.isdecimal() and int(rows) and int(columns)):
        raise ArgumentTypeError(f"must be rows and columns such as 4x5, not '{text}'")
    return int(rows), int(columns)
