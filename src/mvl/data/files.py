"""Files on disk: written whole or not at all, never over something by accident."""

import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mvl.errors import MvlError


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path that takes the real one's place when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise MvlError(f"no space left for {path}; nothing was changed there. Free some and try again.") from None
        raise
    finally:
        partial.unlink(missing_ok=True)


def new_file(path: Path, overwrite: bool) -> Path:
    """A name to write to; one in use is refused unless it may be replaced."""
    if path.exists() and (path.is_dir() or not overwrite):
        raise MvlError(
            f"{path} exists already; choose another name{'' if path.is_dir() else ', or replace it with --overwrite'}."
        )
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def fingerprint(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
