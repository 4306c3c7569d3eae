"""`.npz` files with episodes end to end, or folders of them with one episode each."""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mvl.data.sources.episodes import Episode, Fields, cut
from mvl.errors import DataError

LARGEST = 2**30
DENSEST = 100
"""An archive that claims to unpack to over a gigabyte, and to over a hundred times its size, is refused unread."""

UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, AttributeError, TypeError)
"""What NumPy raises at files that are not what their name says."""


def episodes(path: Path, fields: Fields) -> Iterator[Episode]:
    if path.is_dir():
        for file in sorted(path.glob("*.npz")):
            yield Episode(str(file), columns(file))
        return
    yield from cut(Episode(str(path), columns(path)), fields)


def columns(path: Path) -> dict[str, np.ndarray]:
    """Every array of an archive; pickled ones are never read, oversized and oddly named ones refused."""
    try:
        check_archive(path)
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable .npz file of plain arrays ({error}).") from None


def check_archive(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    if unpacked > LARGEST and unpacked > DENSEST * path.stat().st_size:
        raise DataError(f"{path}: claims to unpack from {path.stat().st_size} to {unpacked} bytes; refused.")
    for member in members:
        parts = Path(member.filename.replace("\\", "/")).parts
        if ".." in parts or member.filename.startswith(("/", "\\")) or not member.filename.endswith(".npy"):
            raise DataError(f"{path}: has a member named {member.filename!r}, which no array has; refused.")
