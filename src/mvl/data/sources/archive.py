"""`.npz` files with all episodes one after another, or folders of `.npz` files with one episode each."""

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mvl.data.signals import KINDS, Signals
from mvl.data.sources.describing import first_signals
from mvl.data.sources.episodes import ENDS, ColumnNames, RawEpisode, split_episodes
from mvl.data.sources.reading import SILENT, Claims, Listener, files_in, unchanged
from mvl.data.sources.restoring import NOTES, described, noted, plain, restored
from mvl.errors import DataError

LARGEST = 2**30
DENSEST = 100
"""An archive whose header declares more than LARGEST bytes and more than DENSEST times its size is refused unread."""

UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, AttributeError, TypeError, NotImplementedError),
    *(RuntimeError, SyntaxError, tokenize.TokenError, struct.error, KeyError, IndexError, OverflowError, MemoryError),
)
"""Exceptions of NumPy and zipfile for files that are damaged or of another format."""


def defaults(path: Path) -> ColumnNames:
    """Column names of the layout that training reads; an imported file may have goals of its own."""
    known = signals_in(path) if path.is_file() else None
    return ColumnNames(observations=("observations",), actions=("actions",), goals=("goals",) if known and known.goals else ())


def episodes(path: Path, names: ColumnNames, listener: Listener = SILENT) -> Iterator[RawEpisode]:
    """Episodes of a file, or of a folder with a file for each."""
    files = files_in(path, ".npz")
    split = names if path.is_dir() or names.episode or names.ends else names._replace(ends=ENDS)
    with unchanged(*files):
        for done, file in enumerate(files):
            listener.progress(done, len(files))
            whole = RawEpisode(str(file), columns(file, split))
            yield from split_episodes(whole, split) if split.episode or split.ends else [whole]


def source_signals(path: Path, names: ColumnNames) -> Signals:
    """Names by the arrays, or those that an import gave to their dimensions."""
    found = first_signals(episodes(path, names), names)
    known = signals_in(files_in(path, ".npz")[0])
    if known is None:
        return found
    groups = {kind: getattr(known if getattr(names, kind) == (kind,) else found, kind) for kind in KINDS}
    return Signals(**groups, hz=known.hz)


def signals_in(path: Path) -> Signals | None:
    """The signals that an import has written to a file, as those of a source; None if there are none."""
    notes = notes_in(path)
    return plain(described(notes["signals"], path)) if notes else None


def notes_in(path: Path) -> dict[str, np.ndarray]:
    """What an import has noted in a file about its arrays; empty for other files."""
    return noted(_read(path, lambda available: [name for name in NOTES if name in available]))


def columns(path: Path, names: ColumnNames) -> dict[str, np.ndarray]:
    """The arrays of an archive that are needed, by name; those of an imported file in the units of its source."""
    found = _read(path, lambda available: names.needed(str(path), available))
    try:
        return restored(found, notes_in(path), path)
    except (ValueError, IndexError, TypeError) as error:
        raise DataError(f"{path}: its notes do not fit its arrays ({error}); import the first source again.") from None


def _read(path: Path, wanted: Callable[[list[str]], list[str]]) -> dict[str, np.ndarray]:
    """Some arrays of an archive, by name; pickled arrays are never read, and suspicious archives are refused."""
    try:
        check_archive(path)
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            chosen, claims = wanted(file.files), Claims(path)
            for name in chosen:
                claims.add(file.zip.getinfo(f"{name}.npy").file_size)
            return {name: file[name] for name in chosen}
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
