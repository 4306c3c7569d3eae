"""`mvl serve`: answer robots over the network with the actions of a run's policy."""

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvl.cli.parser import Parser, add_own_code, count, import_own_code, not_negative, port, positive, seed

if TYPE_CHECKING:
    from mvl.deploy.session import Served

TOKEN = "MVL_TOKEN"


def run(argv: list[str]) -> None:
    options = _parser().parse_all(argv)
    import_own_code(options)

    import asyncio

    from mvl.extras import check_server

    check_server("mvl serve")
    token = token_of(options.token)
    from mvl.deploy.server import check_token

    check_token(options.host, token)
    served = _served(options)
    served.warm_up()
    asyncio.run(_serve(served, options.host, options.port, token))


def _parser() -> Parser:
    parser = Parser(prog="mvl serve", description="Serve a run's policy to robots, by openpi's websocket protocol.")
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    parser.add_argument("--seed", type=seed, help="which of the run's seeds to serve (default: the first)")
    parser.add_argument(
        "--plan", choices=("none", "graph"), help="planner that gives the policy its sub-goals (default: as in training)"
    )
    parser.add_argument(
        "--chunks", action="store_true", help="answer with all actions of a chunk, for clients that carry them out in turn"
    )
    parser.add_argument("--port", type=port, default=8000, help="port to listen at; 0 takes a free one")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen at; one that other machines can reach needs a token",
    )
    parser.add_argument(
        "--token", type=Path, metavar="FILE", help=f"file with the key that clients must send (default: ${TOKEN}, if set)"
    )
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--strict",
        action="store_true",
        help="refuse observations outside the range of the training data",
    )
    limits.add_argument(
        "--margin", type=not_negative, default=0.1, help="how far outside still counts as inside, in standard deviations"
    )
    limits.add_argument(
        "--max-action",
        type=positive,
        nargs="+",
        default=[],
        metavar="X",
        help="limit actions: one number, or one per dimension",
    )
    limits.add_argument(
        "--max-change", type=positive, nargs="+", default=[], metavar="X", help="limit the change from one action to the next"
    )
    limits.add_argument(
        "--max-age", type=positive, default=1.0, help="refuse observations whose `timestamp` is older, in seconds"
    )
    limits.add_argument("--max-rate", type=positive, default=1000.0, help="messages per second from one client")
    limits.add_argument("--max-clients", type=count, default=8, help="clients at the same time")
    limits.add_argument("--max-bytes", type=count, default=4_000_000, help="largest message")
    add_own_code(parser)
    return parser


def _served(options: Namespace) -> "Served":
    from dataclasses import fields

    from mvl.deploy.limits import Limits
    from mvl.deploy.policy import load_policy
    from mvl.deploy.session import Served
    from mvl.runs.folder import RunFolder

    given: dict[str, Any] = {field.name: getattr(options, field.name) for field in fields(Limits)}
    limits = Limits(**given | {name: tuple(given[name]) for name in ("max_action", "max_change")})
    policy = load_policy(options.run, seed=options.seed, plan=options.plan)
    return Served(options.run, RunFolder.open(options.run)[1], policy, limits, options.chunks)


def token_of(file: Path | None) -> str:
    """The key that clients must send; empty: none."""
    import os

    from mvl.errors import UsageError

    token = os.environ.get(TOKEN, "") if file is None else file.read_text().strip()
    if file is not None and not token:
        raise UsageError(f"{file} is empty; put a long random key into it.")
    return token


async def _serve(served: "Served", host: str, port: int, token: str) -> None:
    import asyncio
    import gc

    from mvl.deploy.server import address, listening

    async with listening(served, host, port, token) as server:
        gc.freeze()  # what is loaded stays loaded; not looking through it again keeps garbage collections short
        print(f"{address(server)} serves {served.run} (stop with Ctrl-C)", flush=True)
        await asyncio.Future()
