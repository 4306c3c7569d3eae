"""`.npz` files with all episodes one after another, or folders of `.npz` files with one episode each."""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mvl.data.sources.episodes import ColumnNames, RawEpisode, split_episodes
from mvl.errors import DataError

LARGEST = 2**30
DENSEST = 100
"""An archive whose header declares more than LARGEST bytes and more than DENSEST times its size is refused unread."""

UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, AttributeError, TypeError)
"""Exceptions of NumPy and zipfile for files that are damaged or of another format."""


def episodes(path: Path, names: ColumnNames) -> Iterator[RawEpisode]:
    """Episodes of a file or a folder."""
    if path.is_dir():
        for file in sorted(path.glob("*.npz")):
            yield RawEpisode(str(file), columns(file))
        return
    yield from split_episodes(RawEpisode(str(path), columns(path)), names)


def columns(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an archive, by name; pickled arrays are never read, and suspicious archives are refused."""
    try:
        check_archive(path)
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable .npz file of plain arrays ({error}).") from None


def check_archive(path: Path) -> None:
    """Raise if an archive would unpack to far more bytes than it has, or has members that are not `.npy` files."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    if unpacked > LARGEST and unpacked > DENSEST * path.stat().st_size:
        raise DataError(f"{path}: claims to unpack from {path.stat().st_size} to {unpacked} bytes; refused.")
    for member in members:
        parts = Path(member.filename.replace("\\", "/")).parts
        if ".." in parts or member.filename.startswith(("/", "\\")) or not member.filename.endswith(".npy"):
            raise DataError(f"{path}: has a member named {member.filename!r}, which no array has; refused.")
