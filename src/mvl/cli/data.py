"""`mvl data`: generate datasets, import one's own, and check what is in a file."""

from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvl.cli.parser import Parser, count, seed, share
from mvl.errors import StoppedError, UsageError, unknown

if TYPE_CHECKING:
    from mvl.data.sources.episodes import Fields

ACTIONS = {
    "list": "every task: what is at hand, what can be made or fetched",
    "pull": "fetch a task's published dataset",
    "generate": "make a task's dataset with its simulator",
    "expert": "train the walker that makes ant data",
    "import": "turn your own episodes into a dataset file",
    "check": "report what is in a dataset file",
}


def run(argv: list[str]) -> None:
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: mvl data ACTION ...\n\n" + "\n".join(f"  {name:<10}{text}" for name, text in ACTIONS.items()))
        return
    if argv[0] not in ACTIONS:
        raise unknown("data action", argv[0], ACTIONS)
    {"list": list_, "pull": pull, "generate": generate, "expert": expert, "import": import_, "check": check}[argv[0]](argv[1:])


def list_(argv: list[str]) -> None:
    parser = Parser(prog="mvl data list", description="Every task, where its dataset comes from, and how much of it is at hand.")
    parser.add_argument("--data", type=Path, help="folder of the datasets")
    options = parser.parse_all(argv)

    from mvl.data.sources.npz import folders
    from mvl.tasks import task_names

    print(f"{'task':<40}{'from':<22}{'at hand':<10}")
    for name, task in task_names().items():
        if name != task.dataset:  # reads the files of another task
            continue
        origin = " or ".join(filter(None, ("generate" if task.generator else "", task.origin)))
        found = [place for place in folders(options.data) if (place / f"{name}.npz").exists()]
        files = [found[0] / f"{name}{part}.npz" for part in ("", "-val")] if found else []
        held = f"cached {sum(file.stat().st_size for file in files if file.exists()) / 1e6:>9.1f} MB" if found else ""
        print(f"{name:<40}{origin:<22}{held}".rstrip())


def pull(argv: list[str]) -> None:
    parser = Parser(prog="mvl data pull", description="Fetch a task's published files; goes on where an earlier try stopped.")
    parser.add_argument("task", metavar="TASK", help="for example antmaze-medium-navigate-v0")
    parser.add_argument(
        "--data", type=Path, help="folder to write to (default: the family's own, for OGBench that of its package)"
    )
    parser.add_argument("--source", action="append", metavar="URL", help="look here first; may be given several times")
    options = parser.parse_all(argv)

    from mvl.runs.display import counting
    from mvl.tasks import find_task
    from mvl.tasks.datasets import fetch

    with ExitStack() as bars:
        report = lambda name: bars.enter_context(counting(f"fetching {name}"))
        paths = fetch(find_task(options.task), options.data, options.source, report)
    print("\n".join(f"{path} ({path.stat().st_size / 1e6:.1f} MB)" for path in paths))


def generate(argv: list[str]) -> None:
    parser = Parser(prog="mvl data generate", description="Make the training and validation files of a task.")
    parser.add_argument("task", metavar="TASK", help="for example pointmaze-medium-navigate-v0")
    parser.add_argument("--data", type=Path, help="folder to write to (default: $MVL_DATA, or ~/.mvl/data)")
    parser.add_argument("--seed", type=seed, default=0, help="the same seed gives the same files")
    parser.add_argument("--episodes", type=count, help="fewer training episodes than the published set has")
    parser.add_argument("--workers", type=count, help="processes (default: one per core)")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    options = parser.parse_all(argv)

    from mvl.data.sources.npz import default_folder
    from mvl.runs.display import counting
    from mvl.tasks import find_task
    from mvl.tasks.datasets import generate as make

    task = find_task(options.task)
    given = {name: getattr(options, name) for name in ("seed", "workers", "episodes", "overwrite")}
    try:
        with counting(f"generating {task}") as report:
            paths = make(task, options.data or default_folder(), **given, report=report)
    except KeyboardInterrupt:
        raise StoppedError("stopped; the episodes made so far are kept, and the same command goes on from there.") from None
    print("\n".join(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)" for path in paths))


def expert(argv: list[str]) -> None:
    parser = Parser(prog="mvl data expert", description="Train a policy online that generates data, as the shipped one was.")
    parser.add_argument("body", metavar="BODY", help="ant")
    parser.add_argument("--to", type=Path, required=True, metavar="FILE.safetensors", help="file to write")
    parser.add_argument("--steps", type=count, default=200_000, help="steps to train, each with one update")
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


def import_(argv: list[str]) -> None:
    parser = Parser(prog="mvl data import", description="Turn episodes of other formats into a dataset file and a -val file.")
    parser.add_argument(
        "source", metavar="SOURCE", type=Path, help="a file, a folder with one file per episode, or a Minari id (--kind minari)"
    )
    parser.add_argument("--to", type=Path, required=True, metavar="FILE.npz", help="file to write")
    parser.add_argument("--kind", help="npz, csv, hdf5, lerobot or minari (default: told from the names)")
    names: dict[str, Any] = {"nargs": "+", "metavar": "FIELD", "action": "extend"}
    parser.add_argument("--observations", **names, help="fields that are observed, side by side; joint_* takes all that fit")
    parser.add_argument("--actions", **names, help="fields that are done")
    parser.add_argument("--goals", **names, help="fields a goal is told by (default: the observations)")
    parser.add_argument("--time", metavar="FIELD", help="a clock that must run forward")
    parser.add_argument("--ends", metavar="FIELD", help="true at the last row of every episode, in files that hold several")
    parser.add_argument("--episode", metavar="FIELD", help="or a number that changes from one episode to the next")
    parser.add_argument("--held-out", type=share, default=0.1, help="share of the episodes, the last ones, for validation")
    parser.add_argument("--rescale", action="store_true", help="bring actions to [-1, 1]; policies answer in your units")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    options = parser.parse_all(argv)
    if options.to.suffix != ".npz":
        raise UsageError(f"--to {options.to} must end in .npz.")

    from mvl.data.card import card
    from mvl.data.importing import import_data
    from mvl.data.sources import npz

    done = import_data(
        options.source,
        options.to,
        kind=options.kind,
        fields=_fields(options),
        held_out=options.held_out,
        rescale=options.rescale,
        overwrite=options.overwrite,
    )
    print(f"wrote {done.train} and {done.validation.name}: {done.episodes} episodes\n\n{card(npz.load(done.train))}")


def _fields(options: Namespace) -> "Fields":
    """What the user named, over what the format names itself."""
    from mvl.data.importing import DEFAULTS, PLAIN, kind_of

    kind = options.kind or kind_of(options.source)
    named: dict[str, Any] = {name: getattr(options, name) for name in PLAIN._fields if getattr(options, name)}
    named |= {name: tuple(value) for name, value in named.items() if isinstance(value, list)}
    return DEFAULTS.get(kind, PLAIN)._replace(**named)


def check(argv: list[str]) -> None:
    parser = Parser(prog="mvl data check", description="Report what is in a dataset file, and what looks wrong.")
    parser.add_argument("path", metavar="PATH", help="an .npz file, or a task whose file is looked up")
    parser.add_argument("--data", type=Path, help="folder of the datasets")
    options = parser.parse_all(argv)

    from mvl.data.card import card
    from mvl.data.image_card import image_card
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
