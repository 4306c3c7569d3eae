"""The command `mvl`: one file per command, loaded only when it is used."""

import importlib
import os
import select
import sys
from pathlib import Path

from mvl import __version__
from mvl.errors import MvlError, file_error_message, unknown

COMMANDS = {
    "train": "Train a recipe on a task or a data file; --resume continues a run.",
    "eval": "Evaluate a trained policy in its environment.",
    "report": "Runs as one HTML page: success, curves, values, videos, settings.",
    "view": "Watch a policy in 3-D, in a browser; two runs side by side.",
    "serve": "Answer robots over the network with a policy's actions.",
    "export": "Write a policy as a file that runs without JAX.",
    "goals": "Name goals of a run, for its server.",
    "robot": "Drive a robot or a simulator with a served policy.",
    "video": "Film a run's policy: an mp4 per task.",
    "data": "Generate, download, import and check datasets.",
    "plot": "Draw runs: value contours, action directions, learning curves, grids.",
    "toy": "Exact and learned distances: behind one obstacle, or on Lights-Out boards (mvl toy lights).",
    "recipes": "List the recipes and the parts they are made of.",
    "reproduce": "Train the runs of a table of the paper; print ours beside the paper's.",
    "sweep": "Train every combination of tasks, recipes and settings; print one table.",
    "tune": "Choose a few settings of a recipe on one task.",
    "leaderboard": "Success on every task, from records of runs and from publications.",
    "bench": "Measure training steps, evaluation and start-up on this machine.",
    "doctor": "Show devices, versions and the rendering back end.",
    "demo": "From nothing to an evaluated policy and a picture, in minutes.",
}

OUTPUTS = (1, 2)
"""File descriptors of standard output and standard error."""
USAGE = "usage: mvl COMMAND ...\n\nGoal-reaching policies from logged data (mollified value learning).\n\n"


def overview() -> str:
    """The text of `mvl --help`."""
    lines = [f"  {name:<13}{text}" for name, text in COMMANDS.items()]
    return USAGE + "\n".join(lines) + "\n\n`mvl COMMAND --help` describes a command. `mvl --version` prints the version.\n"


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit code; errors that a user can fix are printed as one sentence on standard error."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path("~/.cache/mvl/jax").expanduser()))
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except MvlError as error:
        print(f"mvl: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("mvl: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        if not _output_is_closed():
            raise
        null = os.open(os.devnull, os.O_WRONLY)
        for output in OUTPUTS:  # Python flushes its buffers at exit, which would fail again
            os.dup2(null, output)
        return 0
    except OSError as error:
        sentence = file_error_message(error)
        if sentence is None:
            raise
        print(f"mvl: {sentence}", file=sys.stderr)
        return 1


def _run(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(overview(), end="")
        return 0 if argv else 2
    if argv[0] == "--version":
        print(__version__)
        return 0
    if argv[0] not in COMMANDS:
        raise unknown("command", argv[0], COMMANDS)
    importlib.import_module(f"mvl.cli.{argv[0]}").run(argv[1:])
    return 0


def _output_is_closed() -> bool:
    """Whether the reader of standard output or standard error has ended, as in `mvl recipes | head -1`."""
    poll = select.poll()
    for output in OUTPUTS:
        poll.register(output, select.POLLOUT)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
