"""`mvl data`: generate datasets, and check what is in a file."""

from pathlib import Path

from mvl.cli.parser import Parser
from mvl.errors import unknown

ACTIONS = {"generate": "make a task's dataset with its simulator", "check": "report what is in a dataset file"}


def run(argv: list[str]) -> None:
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: mvl data ACTION ...\n\n" + "\n".join(f"  {name:<10}{text}" for name, text in ACTIONS.items()))
        return
    if argv[0] not in ACTIONS:
        raise unknown("data action", argv[0], ACTIONS)
    {"generate": generate, "check": check}[argv[0]](argv[1:])


def generate(argv: list[str]) -> None:
    parser = Parser(prog="mvl data generate", description="Make the training and validation files of a task.")
    parser.add_argument("task", metavar="TASK", help="for example pointmaze-medium-navigate-v0")
    parser.add_argument("--data", type=Path, help="folder to write to (default: $MVL_DATA, or ~/.mvl/data)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same files")
    parser.add_argument("--episodes", type=int, help="fewer training episodes than the published set has")
    parser.add_argument("--workers", type=int, help="processes (default: one per core)")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    options = parser.parse_all(argv)

    from mvl.data.generate.run import generate as make
    from mvl.data.names import TaskName
    from mvl.data.sources.npz import default_folder
    from mvl.runs.display import counting

    task = TaskName.parse(options.task)
    with counting(f"generating {task}") as report:
        paths = make(
            task,
            options.data or default_folder(),
            seed=options.seed,
            workers=options.workers,
            episodes=options.episodes,
            overwrite=options.overwrite,
            report=report,
        )
    print("\n".join(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)" for path in paths))


def check(argv: list[str]) -> None:
    parser = Parser(prog="mvl data check", description="Report what is in a dataset file, and what looks wrong.")
    parser.add_argument("path", metavar="PATH", help="an .npz file, or a task whose file is looked up")
    parser.add_argument("--data", type=Path, help="folder of the datasets")
    options = parser.parse_all(argv)

    from mvl.data.card import card
    from mvl.data.names import TaskName
    from mvl.data.sources import npz

    given = Path(options.path)
    is_file = given.suffix == ".npz" or given.exists()
    path = given if is_file else npz.find(TaskName.parse(options.path), options.data)
    print(card(npz.load(path)))
