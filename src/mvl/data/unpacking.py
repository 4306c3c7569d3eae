"""Unpacks arrays of an `.npz` file to `.npy` files next to it, which can be memory-mapped."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from mvl.data.memory_map import CHUNK
from mvl.data.sources.archive import UNREADABLE, check_archive
from mvl.errors import DataError
from mvl.files import atomic, locked

NOTE = "of.json"
"""File in the folder of unpacked arrays: size and date of the `.npz` file they come from."""


def unpack(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Memory-mapped arrays of these names, floating-point numbers as float32.

    They are unpacked into a folder next to the file on first use, and again when the file has changed. One process unpacks;
    others that need the same arrays wait for it.
    """
    folder = path.with_name(f".{path.stem}.unpacked")
    found = _mapped(path, folder, names)  # needs no lock, so it also works without permission to write
    if found is None:
        with locked(path.with_name(f"{folder.name}.lock"), f"waiting for another process that unpacks {path}"):
            found = _mapped(path, folder, names) or _unpacked(path, folder, names)
    return found


def _mapped(path: Path, folder: Path, names: tuple[str, ...]) -> dict[str, np.ndarray] | None:
    """The arrays, if all of them were unpacked from the file as it is now; otherwise None."""
    state = _state(path)
    if _noted(folder) != state:
        return None
    try:
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in names}
    except FileNotFoundError:
        return None
    return arrays if _noted(folder) == state else None  # another process may have begun to unpack a newer file


def _unpacked(path: Path, folder: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The arrays, after unpacking those that are missing; the caller must hold the lock."""
    state = _state(path)
    if _noted(folder) != state:
        (folder / NOTE).unlink(missing_ok=True)  # first, so that no process uses a folder that is half removed
        if folder.exists():
            shutil.rmtree(folder)
        with atomic(folder / NOTE) as partial:
            partial.write_text(json.dumps(state))
    for leftover in folder.glob(".*"):  # of a process that was killed
        leftover.unlink()
    for name in names:
        if not (folder / f"{name}.npy").exists():
            _unpack(path, name, folder / f"{name}.npy")
    if _state(path) != state:
        raise DataError(f"{path} was replaced while it was unpacked; try again.")
    return {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in names}


def _state(path: Path) -> dict[str, int]:
    """Size and modification time of a file, which identify its version."""
    found = path.stat()
    return {"bytes": found.st_size, "changed": found.st_mtime_ns}


def _noted(folder: Path) -> dict[str, int] | None:
    """State of the file from which the arrays of a folder were unpacked; None if unknown."""
    try:
        state: dict[str, int] = json.loads((folder / NOTE).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return state


def _unpack(path: Path, name: str, target: Path) -> None:
    """Write one array of an archive to an `.npy` file, in chunks."""
    try:
        check_archive(path)
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as member:
            shape, by_columns, dtype = header(member)
            if dtype.hasobject or (by_columns and len(shape) > 1):
                raise DataError(
                    f"{path}: {name} is an array of {dtype}{' by columns' * by_columns}, "
                    "which cannot be mapped; save it as numbers in row order."
                )
            kept = np.dtype(np.float32) if dtype.kind == "f" else dtype
            with atomic(target) as partial, open(partial, "wb") as file:
                head = {"descr": npy.dtype_to_descr(kept), "fortran_order": False, "shape": shape}
                npy.write_array_header_1_0(file, head)
                written = 0
                while block := member.read(CHUNK // dtype.itemsize * dtype.itemsize):
                    written += file.write(np.frombuffer(block, dtype).astype(kept).tobytes())
                if written != int(np.prod(shape)) * kept.itemsize:
                    raise DataError(f"{path}: {name} is cut short; make or download it again.")
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable .npz file ({error}); make or download it again.") from None


def in_place(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Memory-mapped arrays of an archive that is not compressed, in row order, where they are in the file."""
    found: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for name in names:
            entry = archive.getinfo(f"{name}.npy")
            assert entry.compress_type == zipfile.ZIP_STORED, "it is compressed"
            file.seek(entry.header_offset + 26)  # where the header says how long the name and the extra field after it are
            name_size, extra_size = np.frombuffer(file.read(4), "<u2").tolist()
            file.seek(name_size + extra_size, 1)
            shape, _, dtype = header(file)
            found[name] = np.memmap(path, dtype, "r", file.tell(), shape)
    return found


class Header(NamedTuple):
    """Shape, order and type of an array in an `.npy` file."""

    shape: tuple[int, ...]
    by_columns: bool
    """Whether the array is stored in Fortran order."""
    dtype: np.dtype


def header(member: Any) -> Header:
    """Read the header of an open `.npy` file."""
    version = npy.read_magic(member)
    return Header(*(npy.read_array_header_1_0(member) if version == (1, 0) else npy.read_array_header_2_0(member)))


def headers(path: Path) -> dict[str, Header]:
    """Headers of all arrays of an `.npz` file, by name."""
    try:
        check_archive(path)
        with zipfile.ZipFile(path) as archive:
            found = {}
            for name in archive.namelist():
                with archive.open(name) as member:
                    found[name.removesuffix(".npy")] = header(member)
            return found
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable .npz file ({error}); make or download it again.") from None
