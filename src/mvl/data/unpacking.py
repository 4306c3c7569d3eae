"""Arrays of an `.npz` file unpacked beside it, as plain `.npy` files that can be mapped."""

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
"""In the folder of arrays: the state of the file they were unpacked from."""


def unpack(path: Path, fields: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Memory-mapped arrays of these fields, floating-point numbers as float32.

    They are unpacked into a folder beside the file on first use, and again when the file has changed. One process unpacks;
    others that need the same arrays wait for it.
    """
    folder = path.with_name(f".{path.stem}.unpacked")
    found = _mapped(path, folder, fields)  # needs no lock, and so no permission to write
    if found is None:
        with locked(path.with_name(f"{folder.name}.lock"), f"waiting for another process that unpacks {path}"):
            found = _mapped(path, folder, fields) or _unpacked(path, folder, fields)
    return found


def _mapped(path: Path, folder: Path, fields: tuple[str, ...]) -> dict[str, np.ndarray] | None:
    """The arrays, if all of them are there and of the file as it is now."""
    state = _state(path)
    if _noted(folder) != state:
        return None
    try:
        arrays = {field: np.load(folder / f"{field}.npy", mmap_mode="r") for field in fields}
    except FileNotFoundError:
        return None
    return arrays if _noted(folder) == state else None  # another process may have begun to unpack a newer file


def _unpacked(path: Path, folder: Path, fields: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The arrays, after unpacking those that are missing; for the holder of the lock."""
    state = _state(path)
    if _noted(folder) != state:
        (folder / NOTE).unlink(missing_ok=True)  # first, so that nobody takes what is left for the whole
        if folder.exists():
            shutil.rmtree(folder)
        with atomic(folder / NOTE) as partial:
            partial.write_text(json.dumps(state))
    for leftover in folder.glob(".*"):  # of a process that was killed
        leftover.unlink()
    for field in fields:
        if not (folder / f"{field}.npy").exists():
            _unpack(path, field, folder / f"{field}.npy")
    if _state(path) != state:
        raise DataError(f"{path} was replaced while it was unpacked; try again.")
    return {field: np.load(folder / f"{field}.npy", mmap_mode="r") for field in fields}


def _state(path: Path) -> dict[str, int]:
    """What tells one version of a file from another."""
    found = path.stat()
    return {"bytes": found.st_size, "changed": found.st_mtime_ns}


def _noted(folder: Path) -> dict[str, int] | None:
    """State of the file that the arrays of a folder are from."""
    try:
        return json.loads((folder / NOTE).read_text())
    except (FileNotFoundError, ValueError):
        return None


def _unpack(path: Path, field: str, target: Path) -> None:
    try:
        check_archive(path)
        with zipfile.ZipFile(path) as archive, archive.open(f"{field}.npy") as member:
            shape, by_columns, dtype = header(member)
            if dtype.hasobject or (by_columns and len(shape) > 1):
                raise DataError(f"{path}: {field} is an array of {dtype}{' by columns' * by_columns}, which cannot be mapped.")
            kept = np.dtype(np.float32) if dtype.kind == "f" else dtype
            with atomic(target) as partial, open(partial, "wb") as file:
                head = {"descr": npy.dtype_to_descr(kept), "fortran_order": False, "shape": shape}
                npy.write_array_header_1_0(file, head)
                written = 0
                while block := member.read(CHUNK // dtype.itemsize * dtype.itemsize):
                    written += file.write(np.frombuffer(block, dtype).astype(kept).tobytes())
                if written != int(np.prod(shape)) * kept.itemsize:
                    raise DataError(f"{path}: {field} is cut short; make or download it again.")
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable .npz file ({error}); make or download it again.") from None


class Header(NamedTuple):
    """What is known of an array before any of it is read."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype


def header(member: Any) -> Header:
    version = npy.read_magic(member)
    return Header(*(npy.read_array_header_1_0(member) if version == (1, 0) else npy.read_array_header_2_0(member)))


def headers(path: Path) -> dict[str, Header]:
    """Of every array of an `.npz` file."""
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
