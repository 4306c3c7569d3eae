"""Errors a user can act on: one sentence each, shown without a traceback."""

from collections.abc import Iterable
from difflib import get_close_matches


class MvlError(Exception):
    """Something went wrong that the user can mend; the message says how."""

    exit_code = 1


class UsageError(MvlError):
    """The command or call itself was wrong: an unknown name, an impossible combination."""

    exit_code = 2


class DataError(MvlError):
    """A dataset is missing, unreadable or inconsistent."""


class DamagedError(MvlError):
    """A file of a run is truncated, or was changed by something else; the message names it."""


class NoSpaceError(MvlError):
    """The disk is full; the message names the file there was no space for."""


class StoppedError(MvlError):
    """Ctrl-C, after saving; the message says how to go on."""

    exit_code = 130


def unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """An error for a name that does not exist, with the closest ones that do."""
    choices = sorted(known)
    close = get_close_matches(name, choices, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(close)}?" if close else f"choose from {', '.join(choices[:12])}."
    return UsageError(f"no {kind} named '{name}'; {hint}")
