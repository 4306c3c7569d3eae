"""`mvl data`: list, download, generate, import and check datasets."""

from contextlib import ExitStack
from pathlib import Path

from mvl.cli.parser import Parser, count, seed
from mvl.errors import StoppedError, unknown

ACTIONS = {
    "list": "list all tasks, and where their datasets come from",
    "pull": "download a task's published dataset",
    "generate": "make a task's dataset with its simulator",
    "expert": "train the walking policy that antmaze data is generated with",
    "import": "turn your own episodes into a dataset file",
    "check": "report what is in a dataset file",
}


def run(argv: list[str]) -> None:
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: mvl data ACTION ...\n\n" + "\n".join(f"  {name:<10}{text}" for name, text in ACTIONS.items()))
        return
    if argv[0] not in ACTIONS:
        raise unknown("data action", argv[0], ACTIONS)
    if argv[0] == "import":
        from mvl.cli.data_import import run as import_

        return import_(argv[1:])
    {"list": list_, "pull": pull, "generate": generate, "expert": expert, "check": check}[argv[0]](argv[1:])


def list_(argv: list[str]) -> None:
    parser = Parser(
        prog="mvl data list", description="List all tasks, where their datasets come from, and which are on this machine."
    )
    parser.add_argument("--data", type=Path, help="folder of the datasets")
    options = parser.parse_all(argv)

    from mvl.data.sources.npz import folders
    from mvl.tasks import task_names

    print(f"{'task':<40}{'from':<22}{'on disk':<10}")
    for name, task in task_names().items():
        if name != task.dataset:  # reads the files of another task
            continue
        origin = " or ".join(filter(None, ("generate" if task.generator else "", task.origin)))
        found = [place for place in folders(options.data) if (place / f"{name}.npz").exists()]
        files = [found[0] / f"{name}{part}.npz" for part in ("", "-val")] if found else []
        cached = f"cached {sum(file.stat().st_size for file in files if file.exists()) / 1e6:>9.1f} MB" if found else ""
        print(f"{name:<40}{origin:<22}{cached}".rstrip())


def pull(argv: list[str]) -> None:
    parser = Parser(prog="mvl data pull", description="Download a task's published files; an interrupted download is continued.")
    parser.add_argument("task", metavar="TASK", help="for example antmaze-medium-navigate-v0")
    parser.add_argument(
        "--data", type=Path, help="folder to write to (default: the family's own, for OGBench that of its package)"
    )
    parser.add_argument("--source", action="append", metavar="URL", help="try this address first; may be given several times")
    options = parser.parse_all(argv)

    from mvl.runs.display import counting
    from mvl.tasks import find_task
    from mvl.tasks.datasets import fetch

    with ExitStack() as bars:
        report = lambda name: bars.enter_context(counting(f"downloading {name}"))
        paths = fetch(find_task(options.task), options.data, options.source, report)
    print("\n".join(f"{path} ({path.stat().st_size / 1e6:.1f} MB)" for path in paths))


def generate(argv: list[str]) -> None:
    parser = Parser(
        prog="mvl data generate", description="Generate the training and validation files of a task with its simulator."
    )
    parser.add_argument("task", metavar="TASK", help="for example pointmaze-medium-navigate-v0")
    parser.add_argument("--data", type=Path, help="folder to write to (default: $MVL_DATA, or ~/.mvl/data)")
    parser.add_argument("--seed", type=seed, default=0, help="the same seed gives the same files")
    parser.add_argument("--episodes", type=count, help="training episodes (default: as many as the published dataset has)")
    parser.add_argument("--workers", type=count, help="simulation processes (default: one per core)")
    parser.add_argument(
        "--raw", type=Path, metavar="FOLDER", help="also save the training episodes as a robot lab has them, an HDF5 file each"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    options = parser.parse_all(argv)

    from mvl.data.sources.npz import default_folder
    from mvl.runs.display import counting
    from mvl.tasks import find_task
    from mvl.tasks.datasets import generate as make

    task = find_task(options.task)
    given = {name: getattr(options, name) for name in ("seed", "workers", "episodes", "overwrite", "raw")}
    try:
        with counting(f"generating {task}") as report:
            paths = make(task, options.data or default_folder(), **given, report=report)
    except KeyboardInterrupt:
        raise StoppedError("stopped; the episodes made so far are saved, and the same command continues from them.") from None
    print("\n".join(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)" for path in paths))


def expert(argv: list[str]) -> None:
    parser = Parser(
        prog="mvl data expert", description="Train a walking policy online with SAC, as the one that ships with mvl was trained."
    )
    parser.add_argument("body", metavar="BODY", help="the robot: ant")
    parser.add_argument("--to", type=Path, required=True, metavar="FILE.safetensors", help="file to write")
    parser.add_argument("--steps", type=count, default=200_000, help="environment steps, each with one gradient step")
    parser.add_argument("--seed", type=seed, default=0, help="the same seed gives the same policy")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")
    options = parser.parse_all(argv)

    from mvl.files import new_file
    from mvl.runs.display import counting
    from mvl.tasks import experts

    if options.body not in experts():
        raise unknown("body", options.body, experts())
    new_file(options.to, options.overwrite)
    with counting(f"training {options.body}") as report:
        about = experts()[options.body](options.to, options.steps, options.seed, report)
    print(f"wrote {options.to}: {about}")


def check(argv: list[str]) -> None:
    parser = Parser(prog="mvl data check", description="Report what is in a dataset file, and what looks wrong.")
    parser.add_argument("path", metavar="PATH", help="an .npz file, or a task name to look up in the folder of the datasets")
    parser.add_argument("--data", type=Path, help="folder of the datasets")
    options = parser.parse_all(argv)

    from mvl.data.check.card import card
    from mvl.data.check.image_card import image_card
    from mvl.data.memory_map import fits
    from mvl.data.sources import images, npz
    from mvl.machine import free_memory
    from mvl.tasks import find_task

    given = Path(options.path)
    is_file = given.suffix == ".npz" or given.exists()
    path = given if is_file else find_task(options.path).find_data(options.data)
    if images.is_images(path):
        print(image_card(images.load(path)))
        return
    free = free_memory()
    print(card(npz.load(path, out_of_core=not fits(npz.bytes_of(path), free)), free))
