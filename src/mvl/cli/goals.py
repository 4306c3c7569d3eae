"""`mvl goals`: name goals of a run, so that clients of its server can ask for them."""

from pathlib import Path

from mvl.cli.parser import Parser, natural
from mvl.errors import unknown

ACTIONS = {"add": "name a goal", "list": "print all goals of a run", "remove": "remove a goal"}


def run(argv: list[str]) -> None:
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: mvl goals ACTION RUN ...\n\n" + "\n".join(f"  {name:<10}{text}" for name, text in ACTIONS.items()))
        return
    if argv[0] not in ACTIONS:
        raise unknown("goals action", argv[0], ACTIONS)
    {"add": add, "list": list_, "remove": remove}[argv[0]](argv[1:])


def add(argv: list[str]) -> None:
    parser = Parser(prog="mvl goals add", description="Keep a goal in a run's folder, under a name.")
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    parser.add_argument("name", metavar="NAME", help="name of the goal: what a client sends as prompt")
    parser.add_argument("--values", type=float, nargs="+", metavar="X", help="the goal itself, a number for each dimension")
    parser.add_argument("--from-data", type=Path, metavar="FILE.npz", help="take the goal from a row of this data file")
    parser.add_argument("--row", type=natural, help="number of the row, from 0")
    parser.add_argument("--overwrite", action="store_true", help="replace a goal of that name")
    options = parser.parse_all(argv)
    if (options.values is None) == (options.from_data is None) or (options.from_data is None) != (options.row is None):
        parser.error("give either --values, or --from-data and --row")

    import numpy as np

    from mvl.deploy.goals import add_goal, goal_from_data

    goal = np.array(options.values) if options.values else goal_from_data(options.run, options.from_data, options.row)
    add_goal(options.run, options.name, goal, options.overwrite)
    print(f"{options.name}: {_text(goal)}")


def list_(argv: list[str]) -> None:
    parser = Parser(prog="mvl goals list", description="Print the named goals of a run.")
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    options = parser.parse_all(argv)

    from mvl.deploy.goals import load_goals
    from mvl.runs.folder import RunFolder

    goals = load_goals(options.run, RunFolder.open(options.run)[1])
    for name, goal in goals.items():
        print(f"{name}: {_text(goal)}")
    if not goals:
        print(f"{options.run} has no goals; add one with: mvl goals add {options.run} NAME --values ...")


def remove(argv: list[str]) -> None:
    parser = Parser(prog="mvl goals remove", description="Remove a named goal from a run.")
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    parser.add_argument("name", metavar="NAME", help="name of the goal")
    options = parser.parse_all(argv)

    from mvl.deploy.goals import remove_goal

    remove_goal(options.run, options.name)
    print(f"removed {options.name}")


def _text(goal: object) -> str:
    import numpy as np

    return " ".join(f"{number:g}" for number in np.asarray(goal))
