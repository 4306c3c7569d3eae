"""A private folder of compiled libraries, each named after the SHA-256 of its bytes and checked against it before use."""

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def private_folder(path: Path) -> Iterator[int]:
    """Yields a file descriptor of the folder, which is created if missing.

    Raises OSError if the folder is a symbolic link, belongs to another user, or is writable by others: a user who can write to it
    could make this process run any code.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    if path.is_symlink():
        raise OSError(f"{path} is a symbolic link; replace it by a folder")
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if reason := _untrusted(os.fstat(descriptor)):
            raise OSError(f"{path} {reason}; delete it, or make it yours with mode 700")
        yield descriptor
    finally:
        os.close(descriptor)


def store(folder: int, stem: str, content: bytes) -> str:
    """Write a library to the folder (a descriptor) atomically, so that no process reads an incomplete one; return its name."""
    name = _named(content, stem)
    partial = f"{name}.{secrets.token_hex(8)}"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(partial, dir_fd=folder)
        raise
    return name


def find(folder: int, stem: str) -> tuple[str, str]:
    """Name of an intact library of this stem in the folder, and the defect of a rejected one; either may be empty."""
    defect = ""
    for name in sorted(os.listdir(folder)):
        if name.startswith(f"{stem}-") and name.endswith(".so"):
            found = _defect(folder, name, stem)
            if not found:
                return name, ""
            defect = f"{name} {found}"
    return "", defect


def path_in(folder: int, path: Path, name: str) -> Path:
    """Path of a file in the opened folder; it stays valid if another folder is put at `path`."""
    opened = Path(f"/proc/self/fd/{folder}")
    return (opened if opened.exists() else path) / name


def _defect(folder: int, name: str, stem: str) -> str:
    """Why a library in the folder must not be loaded; empty if it is intact."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        return f"cannot be opened as a regular file ({error.strerror})"
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return "is not a regular file"
        return _untrusted(status) or ("" if _named(file.read(), stem) == name else "is damaged")


def _named(content: bytes, stem: str) -> str:
    """File name of a library with this content."""
    return f"{stem}-{hashlib.sha256(content).hexdigest()}.so"


def _untrusted(status: os.stat_result) -> str:
    """Why other users could have changed a file or folder; empty if they could not."""
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    return "is writable by others" if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""
