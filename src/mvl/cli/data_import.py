"""`mvl data import`: turn a user's episodes into a dataset file."""

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvl.cli import changes
from mvl.cli.parser import Parser, share
from mvl.errors import UsageError

if TYPE_CHECKING:
    from mvl.data.sources.episodes import ColumnNames

PATIENCE = 2.0
"""Seconds before progress is shown."""


def _parser() -> Parser:
    parser = Parser(prog="mvl data import", description="Convert episodes of other formats to a dataset file and its -val file.")
    parser.add_argument(
        "source",
        metavar="SOURCE",
        type=Path,
        help="a file, a folder, a Minari id (--kind minari), or the name of a LeRobot dataset on the hub (--kind lerobot)",
    )
    parser.add_argument("--to", type=Path, required=True, metavar="FILE.npz", help="file to write")
    parser.add_argument("--kind", help="npz, csv, hdf5, lerobot, minari or streams (default: by the file names)")
    names: dict[str, Any] = {"nargs": "+", "metavar": "COLUMN", "action": "extend"}
    parser.add_argument(
        "--observations", **names, help="columns to concatenate to observations; patterns such as joint_* are allowed"
    )
    parser.add_argument("--actions", **names, help="columns to concatenate to actions")
    parser.add_argument("--goals", **names, help="columns that describe a goal (default: the observations)")
    parser.add_argument("--time", metavar="COLUMN", help="time stamps; an episode in which they do not increase is refused")
    parser.add_argument("--ends", metavar="COLUMN", help="for files with several episodes: true at the last row of each")
    parser.add_argument("--episode", metavar="COLUMN", help="for files with several episodes: a value that is different in each")
    parser.add_argument(
        "--join",
        choices=("held", "nearest"),
        help="for streams: take the last value (held, the default) or the nearest",
    )
    parser.add_argument("--held-out", type=share, default=0.1, help="fraction of the episodes for validation, taken from the end")
    parser.add_argument(
        "--rescale", action="store_true", help="scale actions to [-1, 1]; policies still return them in your units"
    )
    changes.add(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    return parser


def run(argv: list[str]) -> None:
    options = _parser().parse_all(argv)
    if options.to.suffix != ".npz":
        raise UsageError(f"--to {options.to} must end in .npz.")

    from mvl.data.check.card import card
    from mvl.data.imports.importing import import_data
    from mvl.data.sources import npz
    from mvl.data.sources.reading import Listener
    from mvl.runs.display import counting

    notes: list[str] = []
    with counting(f"importing {options.source}", after=PATIENCE) as progress:
        done = import_data(
            options.source,
            options.to,
            kind=options.kind,
            columns=_columns(options),
            held_out=options.held_out,
            rescale=options.rescale,
            changes=changes.of(options),
            overwrite=options.overwrite,
            listener=Listener(notes.append, progress),
        )
    print("\n".join([f"wrote {done.train} and {done.validation.name}: {done.episodes} episodes", *notes, ""]))
    print(card(npz.load_in_place(done.train, str(done.train)), more=done.notes))


def _columns(options: Namespace) -> "ColumnNames":
    """The columns that the options name, and the clock of streams."""
    from mvl.data.sources.episodes import Clock, ColumnNames

    named: dict[str, Any] = {name: getattr(options, name) for name in ColumnNames._fields if getattr(options, name, None)}
    named |= {name: tuple(value) for name, value in named.items() if isinstance(value, list)}
    if options.kind != "streams":
        if options.join:
            raise UsageError("--join is for streams; leave it out, or give --kind streams.")
        return ColumnNames(**named)
    clock = Clock(options.hz, options.join or "held") if options.hz else None
    return ColumnNames(clock=clock, **named)
