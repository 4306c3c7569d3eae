"""Walks an HDF5 file: sees only what lies in the file itself, each group once, and reads no more than the file can hold."""

import math
import posixpath
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.sources.reading import LARGEST, Claims, missing_package
from mvl.errors import DataError

DEEPEST = 16
"""Most groups inside each other."""
GZIP = 1032
"""Most bytes that one byte of a gzip stream can stand for."""
UNREADABLE = (
    zlib.error,
    OSError,
    RuntimeError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    MemoryError,
)
"""Exceptions of h5py for files that are damaged or of another format."""


class Walk:
    """An open HDF5 file, for one walk through its groups."""

    def __init__(self, path: Path, root: Any) -> None:
        self.path, self.root, self.claims = path, root, Claims(path)

    def children(self, group: Any) -> dict[str, Any]:
        """Groups and arrays in a group, by name; links to other files are refused."""
        import h5py

        found = {name: self._target(group, name) for name in group}
        return {name: thing for name, thing in found.items() if isinstance(thing, h5py.Group | h5py.Dataset)}

    def arrays(self, group: Any) -> dict[str, Any]:
        """Arrays of a group and of the groups inside it, by path; single numbers are left out."""
        return dict(self._arrays(group, "", set()))

    def read(self, array: Any) -> np.ndarray:
        """The content of an array of numbers or of text of fixed length, which must be stored in the file."""
        if array.dtype.kind not in "fiubS":
            raise DataError(f"{self.path}: {array.name} has type {array.dtype}; numbers are needed.")
        self.check(array)
        content: np.ndarray = array[()]
        return content

    def words(self, array: Any) -> set[str]:
        """The content of an array of words."""
        self.check(array)
        return {word.decode() if isinstance(word, bytes) else str(word) for word in array[()].ravel().tolist()}

    def check(self, array: Any) -> None:
        """Raise if an array is not stored in the file, or claims far more bytes than the file has."""
        if array.is_virtual or array.external:
            raise DataError(
                f"{self.path}: {array.name} is stored in another file; copy it into this one, for example by h5repack."
            )
        size = max(math.prod(array.shape), math.prod(array.chunks or ()))
        self.claims.add(size * array.dtype.itemsize)
        if array.compression == "gzip" and array.id.get_storage_size() * GZIP > LARGEST:
            self._check_chunks(array)

    def _check_chunks(self, array: Any) -> None:
        """Raise if a compressed chunk would unpack to more bytes than a chunk has: HDF5 unpacks all of it."""
        whole = math.prod(array.chunks) * array.dtype.itemsize
        for index in range(array.id.get_num_chunks()):
            found = array.id.get_chunk_info(index)
            if found.size * GZIP > LARGEST:
                packed = array.id.read_direct_chunk(found.chunk_offset)[1]
                if len(zlib.decompressobj().decompress(packed, whole + 1)) > whole:
                    self.claims.add(GZIP * found.size)

    def _arrays(self, group: Any, prefix: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
        from h5py import h5o

        address = h5o.get_info(group.id).addr
        if address in seen or prefix.count("/") > DEEPEST:
            raise DataError(f"{self.path}: {prefix[:80]} is a group inside itself, or linked twice; remove that link.")
        seen.add(address)
        for name, thing in self.children(group).items():
            if not hasattr(thing, "shape"):
                yield from self._arrays(thing, f"{prefix}{name}/", seen)
            elif thing.shape:
                yield f"{prefix}{name}", thing

    def _target(self, group: Any, name: str) -> Any:
        """What a link of a group leads to."""
        import h5py

        link = group.get(name, getlink=True)
        if isinstance(link, h5py.HardLink):
            return group[name]
        place = posixpath.normpath(posixpath.join(group.name, link.path)) if isinstance(link, h5py.SoftLink) else ""
        thing = self.root
        for part in place.strip("/").split("/"):  # step by step, since a link on the way may lead outside
            if not hasattr(thing, "keys") or not isinstance(thing.get(part, getlink=True, default=None), h5py.HardLink):
                raise DataError(
                    f"{self.path}: {posixpath.join(group.name, name)} is a link out of the file, or to nothing; remove it."
                )
            thing = thing[part]
        return thing


@contextmanager
def opened(path: Path) -> Iterator[Walk]:
    """Open an HDF5 file."""
    try:
        import h5py
    except ImportError:
        raise missing_package("HDF5", "h5py") from None
    try:
        with h5py.File(path, "r") as root:
            yield Walk(path, root)
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable HDF5 file ({_one_line(error)}).") from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
