"""Minari datasets, by their id or folder. Needs minari."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mvl.data.sources.episodes import Episode, Fields, missing_package
from mvl.errors import DataError

DEFAULT = Fields(observations=("observations*",), actions=("actions*",))
"""Everything observed, side by side."""


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
