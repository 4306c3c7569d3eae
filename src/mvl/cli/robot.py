"""`mvl robot`: drive a robot, a simulator or a recorded log with the policy of a server."""

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mvl.cli.parser import Parser, count, positive, seed
from mvl.errors import MvlError, StoppedError, UsageError, unknown

if TYPE_CHECKING:
    from mvl.client import Client
    from mvl.deploy.robot import Robot

TIMEOUT = 1.0
"""Seconds without an answer after which the connection is made anew."""


def run(argv: list[str]) -> None:
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: mvl robot run ...\n\n  run       drive a robot; `mvl robot run --help` describes it")
        return
    if argv[0] != "run":
        raise unknown("robot action", argv[0], ["run"])
    options = _parser().parse_all(argv[1:])

    from mvl.extras import check_server
    from mvl.files import new_file

    check_server("mvl robot")
    if options.stop_file and options.stop_file.exists():
        raise UsageError(f"{options.stop_file} exists, which stops the robot; remove it first.")
    if options.robot.startswith("log:") and options.goal is None:
        raise UsageError("a log has no goal of its own; name one of the served run with --goal.")
    if options.record:
        if options.record.suffix != ".npz":
            raise UsageError(f"--record {options.record} must end in .npz.")
        new_file(options.record, options.overwrite)
    _drive(options)


def _parser() -> Parser:
    parser = Parser(prog="mvl robot run", description="Drive a robot at a fixed rate with the policy of `mvl serve`.")
    parser.add_argument(
        "--robot", required=True, metavar="ROBOT", help="sim:TASK, log:FILE.npz, or module:function that makes one of your own"
    )
    parser.add_argument("--server", default="ws://127.0.0.1:8000", metavar="ADDRESS", help="address of the policy server")
    parser.add_argument("--token", type=Path, metavar="FILE", help="file with the server's key (default: $MVL_TOKEN, if set)")
    parser.add_argument("--goal", metavar="NAME", help="name of a goal of the served run (default: the goal of the simulator)")
    parser.add_argument("--hz", type=positive, default=20.0, help="periods per second")
    parser.add_argument("--seconds", type=positive, help="stop after this time (default: at the end of the episode, or never)")
    parser.add_argument("--dry-run", action="store_true", help="read and print what would be sent, but send nothing")
    parser.add_argument("--stop-file", type=Path, metavar="FILE", help="stop as soon as this file exists, as Ctrl-C does")
    parser.add_argument("--record", type=Path, metavar="FILE.npz", help="write what was read and sent to this file")
    parser.add_argument("--overwrite", action="store_true", help="replace the file of --record")
    parser.add_argument("--task-goal", type=count, default=1, help="simulators: number of the task's goal")
    parser.add_argument("--seed", type=seed, default=0, help="simulators: seed of the episode")
    return parser


def _drive(options: Namespace) -> None:
    from mvl.deploy.link import Link
    from mvl.deploy.loop import Summary, drive, stopping_on_signals
    from mvl.deploy.robot import DryRobot, RecordedRobot, make_robot
    from mvl.tasks.simulator import Start

    robot: Robot = make_robot(options.robot, Start(options.task_goal, options.seed))
    robot = recorded = RecordedRobot(DryRobot(robot) if options.dry_run else robot)
    summary = Summary(1 / options.hz)
    stop_file = options.stop_file
    stopped: Callable[[], bool] = lambda: stop_file is not None and os.path.exists(stop_file)
    say: Callable[[str], None] = lambda line: print(f"mvl: {line}", file=sys.stderr, flush=True)
    with stopping_on_signals(), Link(_connector(options)) as link, robot:
        try:
            drive(robot, link, summary, options.seconds, options.goal, stopped, say)
        finally:
            print(f"{summary}\n{robot}", flush=True)
            if options.record:
                recorded.save(options.record)
    if stopped():
        raise StoppedError(f"stopped, because {stop_file} exists.")


def _connector(options: Namespace) -> "Callable[[], Client]":
    """A function that connects to the server."""
    from mvl.cli.serve import token_of

    token = token_of(options.token)

    def connect() -> "Client":
        from websockets.exceptions import WebSocketException

        from mvl.client import Client

        try:
            return Client(options.server, token, TIMEOUT)
        except (OSError, WebSocketException) as error:
            reason = str(error) or "no answer"
            raise MvlError(f"{options.server} cannot be reached ({reason}); is `mvl serve` running there?") from None

    return connect
