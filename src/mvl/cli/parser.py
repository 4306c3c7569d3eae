"""Argument parsing whose complaints are our own one-sentence errors."""

import argparse
import re
from typing import NoReturn

from mvl.errors import UsageError, unknown


def file_name(text: str) -> str:
    """An argument that names files: a name, never a path."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+=,~-]*", text):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a plain name: use letters, digits and -_.+=,~ and begin with a letter or a digit"
        )
    return text


class _Help(argparse.HelpFormatter):
    """Shows a default where there is one."""

    def _get_help_string(self, action: argparse.Action) -> str:
        shown = action.default not in (None, argparse.SUPPRESS, False)
        return f"{action.help or ''} (default: %(default)s)" if shown else action.help or ""


class Parser(argparse.ArgumentParser):
    def __init__(self, **kwargs) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Help, **kwargs)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see: {self.prog} --help")

    def parse_all(self, argv: list[str]) -> argparse.Namespace:
        """Parse everything; an unknown option is answered with the closest known one."""
        known, extra = self.parse_known_args(argv)
        for word in extra:
            if word.startswith("-"):
                raise unknown("option", word, [name for name in self._option_string_actions if name.startswith("--")])
        if extra:
            raise UsageError(f"unexpected argument '{extra[0]}'; see: {self.prog} --help")
        return known
