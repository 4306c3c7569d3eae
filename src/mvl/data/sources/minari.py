"""Minari datasets, by their id or folder. Needs minari."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.sources.episodes import ColumnNames, RawEpisode, missing_package
from mvl.errors import DataError, MvlError
from mvl.files import locked

DEFAULT = ColumnNames(observations=("observations*",), actions=("actions*",))
"""All observations and all actions, concatenated."""
STORE = "MINARI_DATASETS_PATH"
"""Environment variable with the folder of Minari's datasets."""


def episodes(path: Path, names: ColumnNames) -> Iterator[RawEpisode]:
    """Episodes of a local folder if it exists, otherwise of the dataset with this id in Minari's folder."""
    try:
        import minari
    except ImportError:
        raise missing_package("Minari", "minari") from None
    try:
        dataset = minari.MinariDataset(path / "data") if (path / "data").exists() else minari.load_dataset(str(path))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path}: Minari cannot open it ({error}).") from None
    for episode in dataset.iterate_episodes():
        columns = {**_flat("observations", episode.observations), **_flat("actions", episode.actions)}
        yield RawEpisode(f"{path}, episode {episode.id}", columns)


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
