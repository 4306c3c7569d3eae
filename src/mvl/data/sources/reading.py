"""What all readers share: files that change or claim too much are refused, and the order of files and columns."""

import fnmatch
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mvl.errors import DataError, MvlError

LARGEST, DENSEST = 2**26, 100
"""A file whose columns would take more than LARGEST bytes and more than DENSEST times its size is refused unread."""
SHOWN = 40
"""Most column names that a message lists."""


class Listener(NamedTuple):
    """Who is told how the reading of a source goes."""

    note: Callable[[str], None] = lambda line: None
    """Called with a line for the report, for example what was left out."""
    progress: Callable[[int, int], None] = lambda done, total: None
    """Called with how many parts have been read, and how many there are."""


SILENT = Listener()


class Claims:
    """Counts the bytes that arrays of a file claim to have, before they are read."""

    def __init__(self, path: Path) -> None:
        self.path, self.size, self.claimed = path, path.stat().st_size, 0

    def add(self, claimed: int) -> None:
        """Count an array; raise if the arrays so far would take far more bytes than the file has."""
        self.claimed += claimed
        if self.claimed > LARGEST and self.claimed > DENSEST * self.size:
            raise DataError(
                f"{self.path}: claims {self.claimed} bytes of numbers in a file of {self.size}; refused, "
                "write it again without compression if it is right."
            )


def missing_package(what: str, package: str, extra: str = "formats") -> MvlError:
    """Error that tells how to install a package that reading `what` needs."""
    return MvlError(f"reading {what} needs {package}; install it with: pip install 'mollified-value-learning[{extra}]'")


def existing(source: Path) -> Path:
    """The file or folder of this path; raises if there is none."""
    if not source.exists():
        raise DataError(f"{source} does not exist; check the path.")
    if not source.is_dir() and not source.is_file():
        raise DataError(f"{source} is neither a file nor a folder; name one.")
    return source


def files_in(path: Path, *endings: str) -> list[Path]:
    """The file itself, or the files of a folder with these endings, numbers in their names in order; at least one."""
    if not path.is_dir():
        return [path]
    found = [file for file in path.iterdir() if file.suffix.lower() in endings and file.is_file()]
    shown = [file for file in found if not file.name.startswith(".")]
    if not shown:
        raise DataError(f"{path}: has no {' or '.join(endings)} file; check the path and --kind.")
    return sorted(shown, key=lambda file: by_number(file.stem))


def by_number(name: str) -> tuple[str, int, str]:
    """Sort key that puts demo_2 before demo_10."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or -1), name


@contextmanager
def unchanged(*files: Path) -> Iterator[None]:
    """Raise after the block if one of the files was changed since it began."""
    before = [_state(file) for file in files]
    try:
        yield
    except Exception:
        _compare(files, before)
        raise
    _compare(files, before)


def _compare(files: Iterable[Path], before: list[tuple[int, ...]]) -> None:
    for file, state in zip(files, before, strict=True):
        if _state(file) != state:
            raise DataError(f"{file} was changed while it was read; import it again when nothing writes to it.")


def _state(file: Path) -> tuple[int, ...]:
    """Numbers that identify the content of a file; none if it does not exist."""
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def matching(where: str, available: Iterable[str], pattern: str) -> list[str]:
    """Names of the available columns that match a name or pattern; at least one must."""
    columns = list(available)
    found = [pattern] if pattern in columns else fnmatch.filter(columns, pattern)
    if not found:
        raise DataError(f"{where}: has no column {pattern}; it has {listed(columns)}.")
    return found


def listed(names: Iterable[str]) -> str:
    """Names in alphabetical order for a message; characters that a terminal could act on are escaped."""
    shown = [name if name.isprintable() else ascii(name) for name in sorted(names)]
    more = [f"and {len(shown) - SHOWN} more"] if len(shown) > SHOWN else []
    return ", ".join(shown[:SHOWN] + more) or "none"
