"""File operations: atomic writes, locks between processes, and checks that nothing is overwritten by accident."""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from mvl.errors import MvlError, NoSpaceError

PATIENCE = 2.0
"""Seconds to wait for a lock before a message is printed."""
IN_USE = ".in-use"
"""The file in a temporary folder whose lock says that its process lives."""
LONGEST_NAME = 200
"""Longest file name in bytes; file systems allow 255, and the temporary name of `atomic` is longer than the final one."""


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yields a temporary path, which replaces `path` when the block ends without an error.

    Unfinished files that killed processes have left for this `path` are removed first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = _begin(path)
    try:
        yield partial
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpaceError(f"no space left for {path}, which was not changed; free some space and try again.") from None
        raise
    finally:
        partial.unlink(missing_ok=True)
        os.close(handle)


def _begin(path: Path) -> tuple[int, Path]:
    """A new temporary file beside `path`: its open handle, whose lock says that it is in use, and its own path."""
    prefix, suffix = f".{path.name}.", path.suffix
    for entry in list(os.scandir(path.parent)):
        if entry.name.startswith(prefix) and re.fullmatch(r"[a-z0-9_]{8}", entry.name[len(prefix) :].removesuffix(suffix)):
            with abandoned(Path(entry.path)) as found:
                if found:
                    os.unlink(entry.path)
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=suffix)
        with suppress(OSError):  # a file system without locks: then nothing counts as abandoned
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.path.exists(name):
            return handle, Path(name)
        os.close(handle)  # another process took it for abandoned before it was locked


@contextmanager
def abandoned(file: Path) -> Iterator[bool]:
    """Whether no process holds the lock on a file; within the block, this one does. False if that cannot be said."""
    with ExitStack() as stack:
        try:
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = stat.S_ISREG(os.fstat(handle).st_mode) and os.fstat(handle).st_uid == os.getuid()
        except OSError:  # it is in use, gone or a link, or the file system has no locks
            found = False
        yield found


def write_json(content: object, to: Path) -> None:
    """Write JSON for people to read, one number a line, in place of what is there."""
    with atomic(to) as partial:
        partial.write_text(json.dumps(content, indent=1) + "\n")


@contextmanager
def locked(path: Path, waiting: str) -> Iterator[None]:
    """Hold an exclusive lock between processes until the block ends.

    The lock is on the file `path`, which is removed afterwards; it is released if the process that holds it dies. A process
    that waits for more than `PATIENCE` seconds prints `waiting` to standard error.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open(path, "w") as file:
            _lock(file, waiting)
            if not _is_at(path, file):  # the previous holder removed it, and another process may have locked a new one
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _lock(file: IO[str], waiting: str) -> None:
    start = time.monotonic()
    try:
        while time.monotonic() < start + PATIENCE:
            try:
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.02)
        print(f"mvl: {waiting}", file=sys.stderr)
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        raise MvlError(f"{file.name} cannot be locked ({error.strerror}); move the data to a file system with locks.") from None


def _is_at(path: Path, file: IO[str]) -> bool:
    """Whether the open file is the one at `path`."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def refuse_links(*paths: Path) -> None:
    """Raise if one of the paths is a symbolic link, since writing to it would change a file somewhere else."""
    for path in paths:
        if path.is_symlink():
            raise MvlError(f"{path} is a symbolic link, which is not written through; put the file itself in its place.")


def open_unlinked(path: Path, mode: str) -> IO[bytes]:
    """`open` in a binary mode, except that a symbolic link is refused; links among the folders above it are followed."""
    try:
        return open(path, mode, opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666))
    except OSError:
        refuse_links(path)
        raise


def append_line(path: Path, line: str) -> None:
    """Append a line to a file; after an unfinished line, which a killed process may leave, a new one is begun first."""
    with open_unlinked(path, "a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            unfinished = file.read(1) != b"\n"
            file.write(b"\n" * unfinished)
        file.write(line.encode() + b"\n")


def new_file(path: Path, overwrite: bool) -> Path:
    """Return `path`, after checking without writing that it is free or `overwrite` is set, and that its folder is writable."""
    if os.path.lexists(path) and (path.is_dir() or not overwrite):
        raise MvlError(
            f"{path} exists already; choose another name{'' if path.is_dir() else ', or replace it with --overwrite'}."
        )
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise MvlError(f"{path.name[:40]}... is too long for a file's name; choose a shorter one.")
    writable_folder(path.parent)
    return path


def new_files(paths: Iterable[Path], overwrite: bool) -> list[Path]:
    """`new_file` for several paths, which must differ from each other."""
    checked = [new_file(path, overwrite) for path in paths]
    for path in checked:
        if checked.count(path) > 1:
            raise MvlError(f"{path} is named for two files; choose another name for one of them.")
    return checked


def writable_folder(path: Path) -> Path:
    """Return `path`, after checking without creating it that it is a writable folder or can become one."""
    place = next((place for place in (path, *path.parents) if place.exists()), None)
    if place is None:
        raise MvlError(f"{path} cannot be created: the current folder no longer exists; change to one that does.")
    if not place.is_dir():
        raise MvlError(f"{place} is a file, where a folder is needed; choose another place.")
    try:
        with tempfile.TemporaryFile(dir=place):  # permission bits are not enough: the file system may be read-only
            pass
    except OSError as error:
        raise MvlError(f"{place} cannot be written to ({error.strerror}); choose another place.") from None
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def fingerprint(path: Path) -> str:
    """SHA-256 of a file's content, as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def scratch_folder(place: Path | None = None, prefix: str = "mvl-") -> Iterator[str]:
    """Yields a temporary folder, removed afterwards; those that killed processes have left at its place are removed first.

    By default it is among the system's temporary files. A folder is in use while its lock file is locked.
    """
    for other in Path(place or tempfile.gettempdir()).glob(f"{prefix}*/{IN_USE}"):
        with abandoned(other) as found:
            if found and not other.parent.is_symlink():
                shutil.rmtree(other.parent, ignore_errors=True)
    folder = tempfile.mkdtemp(dir=place, prefix=prefix)
    with open(Path(folder) / IN_USE, "xb") as lock:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
