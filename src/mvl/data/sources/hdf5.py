"""HDF5: a group per episode (`/episode_0`, robomimic's `/data/demo_0`), or arrays with several episodes. Needs h5py."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.sources.episodes import ColumnNames, RawEpisode, missing_package, split_episodes
from mvl.errors import DataError


def episodes(path: Path, names: ColumnNames) -> Iterator[RawEpisode]:
    """Episodes of a file, or of all files of a folder in the order of their names."""
    try:
        import h5py
    except ImportError:
        raise missing_package("HDF5", "h5py") from None
    files = sorted(file for ending in ("*.h5", "*.hdf5") for file in path.glob(ending)) if path.is_dir() else [path]
    for file in files:
        try:
            with h5py.File(file, "r") as root:
                yield from _episodes(file, root, names)
        except (OSError, RuntimeError) as error:
            raise DataError(f"{file}: not a readable HDF5 file ({error}).") from None


def _episodes(path: Path, root: Any, names: ColumnNames) -> Iterator[RawEpisode]:
    place = root["data"] if "data" in root and hasattr(root["data"], "keys") else root
    groups = sorted((name for name in place if hasattr(place[name], "keys")), key=_by_number)
    if groups and not any(hasattr(place[name], "shape") for name in place):
        for name in groups:
            yield RawEpisode(f"{path}, {place[name].name}", _flat(path, place[name]))
        return
    yield from split_episodes(RawEpisode(str(path), _flat(path, place)), names)


def _by_number(name: str) -> tuple[str, int]:
    """Sort key that puts demo_2 before demo_10."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return stem, int(digits) if digits else -1


def _flat(path: Path, group: Any) -> dict[str, np.ndarray]:
    """Arrays of a group and of the groups inside it, by path."""
    found: dict[str, np.ndarray] = {}
    for name in group:
        thing = group.get(name, getlink=False)
        if thing is None:
            raise DataError(f"{path}: {group.name}/{name} is a link to something that is not in the file; remove it.")
        if hasattr(thing, "shape"):
            if thing.shape:  # single numbers describe the episode, not its rows
                found[name] = thing[()]
        else:
            found |= {f"{name}/{inner}": array for inner, array in _flat(path, thing).items()}
    return found
