"""Argument parsing whose errors are one sentence, raised as `UsageError`."""

import argparse
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from mvl.checks import COUNT, INSIDE_UNIT, NATURAL, NOT_NEGATIVE, POSITIVE, SEED, Range
from mvl.errors import UsageError, unknown

if TYPE_CHECKING:
    from mvl.tasks import Task


def within(allowed: Range) -> Callable[[str], Any]:
    """The `type` of an argparse argument that is a number in a range."""

    def parse(text: str) -> Any:
        try:
            value = int(text) if allowed.whole else float(text)
        except ValueError:
            value = math.nan
        if value not in allowed:
            raise argparse.ArgumentTypeError(f"must be {allowed}, not '{text}'")
        return value

    return parse


count, natural, seed = within(COUNT), within(NATURAL), within(SEED)
positive, not_negative, share = within(POSITIVE), within(NOT_NEGATIVE), within(INSIDE_UNIT)
port = within(Range(0, 2**16 - 1, whole=True))


def file_name(text: str) -> str:
    """The `type` of an argparse argument that is a file name without a folder."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+=,~-]*", text):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a plain name: use letters, digits and -_.+=,~ and begin with a letter or a digit"
        )
    return text


class _Help(argparse.HelpFormatter):
    """Shows the default of every option that has one."""

    def _get_help_string(self, action: argparse.Action) -> str:
        shown = not any(action.default is absent for absent in (None, argparse.SUPPRESS, False)) and action.default != []
        return f"{action.help or ''} (default: %(default)s)" if shown else action.help or ""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `UsageError` instead of printing its usage and exiting."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Help, **kwargs)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see: {self.prog} --help")

    def parse_all(self, argv: list[str]) -> argparse.Namespace:
        """Parse all arguments; the error about an unknown option names the closest known one."""
        known, extra = self.parse_known_args(argv)
        for word in extra:
            if word.startswith("-"):
                raise unknown("option", word, [name for name in self._option_string_actions if name.startswith("--")])
        if extra:
            raise UsageError(f"unexpected argument '{extra[0]}'; see: {self.prog} --help")
        return known


def add_own_code(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the option --parts, which names modules with parts, tasks or environments of the user."""
    parser.add_argument("--parts", action="append", default=[], metavar="MODULE", help=PARTS_HELP)


PARTS_HELP = "import this module or .py file, which defines parts or an environment of your own; may be given several times"


def add_env(parser: argparse.ArgumentParser | argparse._ArgumentGroup, purpose: str) -> None:
    """Add the options --env and --goals, which describe an environment of the user for a data file."""
    parser.add_argument("--env", metavar="MODULE:FUNCTION", help=f"{purpose}; also FILE.py:FUNCTION")
    parser.add_argument("--goals", type=count, metavar="N", help=GOALS_HELP)


GOALS_HELP = "number of evaluation goals of --env, if several: an episode begins with reset(options={'task_id': 1 to N})"


def import_own_code(options: argparse.Namespace) -> None:
    """Import the modules that `--parts` and `--env` name; a .py file in `--env` is replaced by the name of its module."""
    from mvl.registry import import_module

    for name in options.parts:
        import_module(name)
    env = getattr(options, "env", None)
    if env is None:
        return
    module, colon, function = env.rpartition(":")
    if not colon:
        raise UsageError(f"--env takes module:function, for example my_package:make_env, not '{env}'.")
    options.env = f"{import_module(module).__name__}:{function}"


def own_task(name: str, env: str | None, goals: int | None = None) -> "Task":
    """The task of that name, or that of a data file, evaluated in the environment that `env` names (module:function)."""
    from dataclasses import replace

    from mvl.experiment import as_task
    from mvl.registry import imported
    from mvl.tasks import Task

    task = as_task(name)
    if env is None:
        if goals:
            raise UsageError("--goals is the number of goals of --env; name an environment with --env module:function.")
        return task
    if not task.is_own:
        raise UsageError(f"--env is for data files; leave it out, since {task} has an environment.")
    found = imported(env)
    made = replace(found, data=task.data) if isinstance(found, Task) else replace(task, env=found)
    return replace(made, goals=goals) if goals else made
