"""Flags of `mvl data import` that change the episodes, or say what their columns mean."""

from argparse import ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any

from mvl.cli.parser import Parser, count, positive

if TYPE_CHECKING:
    from mvl.data.imports.changes import Changes


def add(parser: Parser) -> None:
    """Add the flags to a parser."""
    group = parser.add_argument_group(
        "what is wrong with the data", "A COLUMN is one of the source, or the name of a single dimension; patterns are allowed."
    )
    names: dict[str, Any] = {"nargs": "+", "metavar": "COLUMN", "action": "extend", "default": []}
    group.add_argument("--drop", **names, help="leave these out")
    group.add_argument("--every", type=count, default=1, metavar="N", help="keep every N-th row, and join the actions between")
    group.add_argument(
        "--hz",
        type=positive,
        metavar="RATE",
        help="rows per second: join streams, or take the rows with --time, at this rate; without, note it for the policy",
    )
    group.add_argument(
        "--action-is",
        choices=["delta", "position", "velocity"],
        help="how --every and --hz join actions: a delta is summed, of positions the last is taken, of velocities the mean",
    )
    group.add_argument(
        "--deltas", action="store_true", help="actions are the next position: store their change of the present one"
    )
    group.add_argument("--actions-from", **names, help="no actions were recorded: take the changes of these positions")
    group.add_argument("--wrap", **names, help="angles that jump by a full turn: store sine and cosine")
    group.add_argument("--discrete", **names, help="actions with up to 32 values, to be learned as a choice between them")
    group.add_argument("--continuous", **names, help="actions with two values that are not to be learned as a choice")
    group.add_argument(
        "--unit", type=_pair, nargs="+", metavar="COLUMN=UNIT", action="extend", default=[], help="such as joint_*=rad, or t=ms"
    )


def of(options: Namespace) -> "Changes":
    """What the flags ask for."""
    from mvl.data.imports.changes import Changes

    lists: dict[str, Any] = {
        name: tuple(getattr(options, name)) for name in ("drop", "actions_from", "wrap", "discrete", "continuous")
    }
    single: dict[str, Any] = {name: getattr(options, name) for name in ("every", "deltas")}
    hz = None if options.kind == "streams" else options.hz  # streams are at this rate when they have been joined
    return Changes(**lists, **single, hz=hz, action_is=options.action_is or "", units=tuple(options.unit))


def _pair(text: str) -> tuple[str, str]:
    name, equals, unit = text.rpartition("=")
    if not (name and equals and unit):
        raise ArgumentTypeError(f"{text!r} must be a column and its unit, such as joint_*=rad")
    return name, unit
