"""Arrays of an `.npz` file unpacked beside it, as plain `.npy` files that can be mapped."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from mvl.data.files import atomic
from mvl.data.mapping import CHUNK
from mvl.data.sources.archive import UNREADABLE, check_archive
from mvl.errors import DataError


def unpack(path: Path, fields: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Mapped arrays of these fields, floating-point numbers as float32; unpacked once, and anew when the file has changed."""
    folder = path.with_name(f".{path.stem}.unpacked")
    state = {"bytes": path.stat().st_size, "changed": path.stat().st_mtime_ns}
    noted = folder / "of.json"
    if not noted.exists() or json.loads(noted.read_text()) != state:
        shutil.rmtree(folder, ignore_errors=True)
        with atomic(noted) as partial:
            partial.write_text(json.dumps(state))
    for field in fields:
        if not (folder / f"{field}.npy").exists():
            _unpack(path, field, folder / f"{field}.npy")
    return {field: np.load(folder / f"{field}.npy", mmap_mode="r") for field in fields}


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
