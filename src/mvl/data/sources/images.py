"""Files of Powderworld: OGBench's layout with images as observations and one integer as an action."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mvl.data.array_checks import check_episodes
from mvl.data.signals import Signal, Signals
from mvl.data.sources.archive import UNREADABLE, check_archive
from mvl.data.unpacking import header
from mvl.errors import DataError

LEVELS = 8
"""Actions that Powderworld has at least: the positions of the brush along an axis."""
CHUNK = 1000
"""Images read at a time."""


class Images(NamedTuple):
    """A checked file of images. The images are not loaded, since unpacked they may be far larger than memory."""

    path: Path
    shape: tuple[int, ...]  # (rows, height, width, channels)
    actions: np.ndarray  # (rows,) integers
    ends: np.ndarray  # (episodes,) index of each episode's last row

    def chunks(self) -> Iterator[np.ndarray]:
        """Yields the images in order, `CHUNK` at a time, (images, height, width, channels) uint8."""
        with zipfile.ZipFile(self.path) as archive, archive.open("observations.npy") as member:
            header(member)
            size = int(np.prod(self.shape[1:]))
            try:
                while raw := member.read(CHUNK * size):
                    yield np.frombuffer(raw, np.uint8).reshape(-1, *self.shape[1:])
            except UNREADABLE as error:
                raise _unreadable(self.path, error) from None


def is_images(path: Path) -> bool:
    """Whether observations are images, according to the header of their array."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("observations.npy") as member:
            return len(header(member).shape) == 4
    except (*UNREADABLE, KeyError):  # the function that reads the file reports what is wrong
        return False


def as_levels(actions: np.ndarray, source: str) -> tuple[np.ndarray, Signals]:
    """Actions that are one whole number per row as the indices of levels, (rows, 1), and what says so."""
    if actions.dtype.kind not in "iu" or actions.min(initial=0) < 0:
        raise DataError(f"{source}: actions to images are one whole number per row, not {actions.dtype}; correct them.")
    levels = tuple(map(float, range(max(LEVELS, int(actions.max(initial=0)) + 1))))
    return actions[:, None].astype(np.float32), Signals(actions=(Signal("action", ("action",), levels=levels),))


def load(path: Path) -> Images:
    """Open a file of images and check it."""
    try:
        check_archive(path)
        with zipfile.ZipFile(path) as archive, archive.open("observations.npy") as member:
            shape, by_columns, kind = header(member)
            size = archive.getinfo(member.name).file_size - member.tell()
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in ("actions", "terminals") if name not in file]
            if missing:
                raise DataError(f"{path}: has no {' and no '.join(missing)}; it has {', '.join(file.files)}.")
            actions, terminals = file["actions"], file["terminals"]
    except UNREADABLE as error:
        raise _unreadable(path, error) from None
    if kind != np.uint8 or by_columns or size != np.prod(shape, dtype=object):
        raise DataError(f"{path}: images are bytes, row by row; these are {size} bytes of type {kind} in shape {shape}.")
    if actions.ndim != 1 or actions.dtype.kind not in "iu" or actions.min(initial=0) < 0:
        raise DataError(f"{path}: actions to images are one whole number per row; these have shape {actions.shape}.")
    if not shape[0] == len(actions) == len(terminals):
        rows = f"{shape[0]}, {len(actions)} and {len(terminals)}"
        raise DataError(f"{path}: observations, actions and terminals have {rows} rows; they must be equally long.")
    ends = np.flatnonzero(terminals)
    check_episodes(ends, len(terminals), str(path))
    return Images(path, shape, actions, ends)


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(f"{path}: not a readable .npz file ({error}); make or download it again.")
