"""Errors a user can act on: one sentence each, shown without a traceback."""

import errno
from collections.abc import Iterable
from difflib import get_close_matches

DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
ADVICE = {
    **dict.fromkeys(DISK_FULL, "free some space, or choose another place"),
    errno.EACCES: "change its permissions, or choose another place",
    errno.EPERM: "change its permissions, or choose another place",
    errno.EROFS: "choose a place that can be written to",
    errno.EISDIR: "name a file, not a folder",
    errno.ENOTDIR: "a part of the path is a file; name another",
    errno.EEXIST: "choose another name",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOENT: "check the path, or put back what was moved or removed",
}
"""What to do about a file that could not be used, by the system's error number."""


class MvlError(Exception):
    """An error that the user can fix; the message says how."""

    exit_code = 1


class UsageError(MvlError):
    """The command or call itself is wrong, for example an unknown name or an impossible combination."""

    exit_code = 2


class DataError(MvlError):
    """A dataset is missing, unreadable or inconsistent."""


class DamagedError(MvlError):
    """A file of a run is truncated, or was changed by something else; the message names it."""


class NoSpaceError(MvlError):
    """The disk is full; the message names the file that could not be written."""


class StoppedError(MvlError):
    """Ctrl-C interrupted the program after it saved its state; the message says how to continue."""

    exit_code = 130


def unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """An error for a name that does not exist, with the closest ones that do."""
    choices = sorted(known)
    close = get_close_matches(name, choices, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(close)}?" if close else f"choose from {', '.join(choices[:12])}."
    return UsageError(f"no {kind} named '{name}'; {hint}")


def file_error_message(error: OSError) -> str | None:
    """One-sentence message for an OSError about a file or a full disk; None for any other error, which may be a bug."""
    file = error.filename2 or error.filename
    if file is None and error.errno == errno.ENOENT:
        file = "the current folder"  # errors about any other file have its name
    if error.errno is None or (file is None and error.errno not in DISK_FULL):
        return None
    advice = ADVICE.get(error.errno, "check the path and the disk, then try again")
    where = "" if file is None else f"{file}: "
    reason = str(error.strerror)
    return f"{where}{reason[:1].lower()}{reason[1:]}; {advice}."
