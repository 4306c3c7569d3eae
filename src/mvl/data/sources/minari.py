"""Minari datasets, by their id or folder. Needs minari."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.sources.episodes import Episode, Fields, missing_package
from mvl.errors import DataError, MvlError
from mvl.files import locked

DEFAULT = Fields(observations=("observations*",), actions=("actions*",))
"""Everything observed, side by side."""
STORE = "MINARI_DATASETS_PATH"
"""Environment variable with the folder that Minari keeps datasets in."""


def episodes(path: Path, fields: Fields) -> Iterator[Episode]:
    """From a local folder if there is one, otherwise by id from Minari's own store."""
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
        yield Episode(f"{path}, episode {episode.id}", columns)


def _flat(name: str, thing: Any) -> dict[str, np.ndarray]:
    """Nested spaces by their path: `observations/observation`, `observations/desired_goal/kettle`."""
    if isinstance(thing, dict):
        return {inner: array for key, part in thing.items() for inner, array in _flat(f"{name}/{key}", part).items()}
    if isinstance(thing, tuple):
        return {inner: array for key, part in enumerate(thing) for inner, array in _flat(f"{name}/{key}", part).items()}
    return {name: np.asarray(thing)}


def fetch(name: str, purpose: str, extra: str) -> None:
    """Have Minari download a dataset into its store, unless it is there; it appears there whole or not at all."""
    try:
        from minari.storage import get_dataset_path
    except ImportError:
        raise missing_package(purpose, "minari", extra) from None
    place, store = get_dataset_path(name), get_dataset_path()
    if place.exists():
        return
    apart = store / f".mvl-{place.name}"  # Minari does not look into hidden folders
    with locked(store / f"{apart.name}.lock", f"waiting for another process that fetches {name}"):
        if place.exists():  # fetched by the process waited for
            return
        try:
            _download(name, apart)
            _move(apart, store)
        except Exception as error:
            raise MvlError(
                f"{name} could not be fetched through Minari ({error}). Try again where there is a network, "
                f"or copy that folder from another machine's Minari store to {place}."
            ) from None
        finally:
            shutil.rmtree(apart, ignore_errors=True)


def _download(name: str, store: Path) -> None:
    """Have Minari download into a store of its own: it takes half a dataset for a whole one, and a killed process leaves half."""
    import minari

    shutil.rmtree(store, ignore_errors=True)  # of a process that was killed
    before = os.environ.get(STORE)
    os.environ[STORE] = str(store)
    try:
        with redirect_stdout(sys.stderr):
            minari.download_dataset(name)
    finally:
        os.environ.pop(STORE)
        os.environ.update({} if before is None else {STORE: before})


def _move(folder: Path, to: Path) -> None:
    """Merge a folder into another; a folder or file that is missing there is moved in one step, others are kept."""
    for thing in folder.iterdir():
        if not (to / thing.name).exists():
            os.replace(thing, to / thing.name)
        elif thing.is_dir():
            _move(thing, to / thing.name)
