"""Minari datasets, by their id or folder. Needs minari."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.signals import Signals
from mvl.data.sources import hdf5_walk, parquet
from mvl.data.sources.describing import first_signals
from mvl.data.sources.episodes import ColumnNames, RawEpisode
from mvl.data.sources.reading import SILENT, Listener, missing_package, unchanged
from mvl.errors import DataError, MvlError, UsageError
from mvl.files import locked

STORE = "MINARI_DATASETS_PATH"
"""Environment variable with the folder of Minari's datasets."""


def locate(source: Path) -> Path:
    """The folder itself, or, if it is none of Minari's, that of the dataset with this id among Minari's own."""
    if (source / "data").is_dir():
        return source
    try:
        from minari.storage import get_dataset_path
    except ImportError:
        raise missing_package("Minari", "minari") from None
    place: Path = get_dataset_path(str(source))
    if not (place / "data").is_dir():
        raise DataError(f"{source} is neither a folder of Minari nor at {place}; fetch it with: minari download {source}")
    return place


def defaults(path: Path) -> ColumnNames:
    """All observations and all actions, concatenated."""
    return ColumnNames(observations=("observations*",), actions=("actions*",))


def episodes(path: Path, names: ColumnNames, listener: Listener = SILENT) -> Iterator[RawEpisode]:
    """Episodes of the dataset in this folder, or with this id."""
    if names.ends or names.episode:
        raise UsageError(f"{path}: Minari has separate episodes; leave --ends and --episode out.")
    folder = locate(path) / "data"
    try:
        import minari
    except ImportError:
        raise missing_package("Minari", "minari") from None
    try:
        files = [file for file in folder.rglob("*") if file.is_file()]
        with unchanged(*files):
            _check_files(files)
            dataset = minari.MinariDataset(folder)
            for done, episode in enumerate(dataset.iterate_episodes()):
                listener.progress(done, dataset.total_episodes)
                columns = {**_flat("observations", episode.observations), **_flat("actions", episode.actions)}
                where = f"{path}, episode {episode.id}"
                yield RawEpisode(where, {name: columns[name] for name in names.needed(where, columns)})
    except MvlError:
        raise
    except Exception as error:  # of Minari, Gymnasium or the library of the file format
        raise DataError(f"{path}: Minari cannot read it ({' '.join(str(error).split())[:200]}).") from None


def source_signals(path: Path, names: ColumnNames) -> Signals:
    """Names by the spaces."""
    return first_signals(episodes(path, names), names)


def _check_files(files: list[Path]) -> None:
    """Raise if a file links to others or claims far more bytes than it has; Minari itself does not check."""
    for file in files:
        if file.suffix == ".hdf5":
            with hdf5_walk.opened(file) as walk:
                for array in walk.arrays(walk.root).values():
                    walk.check(array)
        if file.suffix == ".parquet":
            parquet.check(file)


def _flat(name: str, thing: Any) -> dict[str, np.ndarray]:
    """Arrays of nested spaces by path: `observations/observation`, `observations/desired_goal/kettle`."""
    if isinstance(thing, dict):
        return {inner: array for key, part in thing.items() for inner, array in _flat(f"{name}/{key}", part).items()}
    if isinstance(thing, tuple):
        return {inner: array for key, part in enumerate(thing) for inner, array in _flat(f"{name}/{key}", part).items()}
    return {name: np.asarray(thing)}


def fetch(name: str, purpose: str, extra: str) -> None:
    """Download a dataset through Minari unless it exists; it appears in Minari's folder only when it is complete."""
    try:
        from minari.storage import get_dataset_path
    except ImportError:
        raise missing_package(purpose, "minari", extra) from None
    place, store = get_dataset_path(name), get_dataset_path()
    if place.exists():
        return
    temporary = store / f".mvl-{place.name}"  # Minari does not look into hidden folders
    with locked(store / f"{temporary.name}.lock", f"waiting for another process that fetches {name}"):
        if place.exists():  # the other process has downloaded it
            return
        try:
            _download(name, temporary)
            _move(temporary, store)
        except Exception as error:
            raise MvlError(
                f"{name} could not be fetched through Minari ({error}); try again where there is a network, "
                f"or copy the folder of that dataset from another machine to {place}."
            ) from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _download(name: str, store: Path) -> None:
    """Download into a separate folder: Minari would use what a killed process leaves as if it were a complete dataset."""
    import minari

    shutil.rmtree(store, ignore_errors=True)  # left by a process that was killed
    before = os.environ.get(STORE)
    os.environ[STORE] = str(store)
    try:
        with redirect_stdout(sys.stderr):
            minari.download_dataset(name)
    finally:
        os.environ.pop(STORE)
        os.environ.update({} if before is None else {STORE: before})


def _move(folder: Path, to: Path) -> None:
    """Merge a folder into another; what the other does not have is moved in one step, what it has is kept."""
    for thing in folder.iterdir():
        if not (to / thing.name).exists():
            os.replace(thing, to / thing.name)
        elif thing.is_dir():
            _move(thing, to / thing.name)
