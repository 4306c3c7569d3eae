"""D4RL's kitchen demonstrations: fetched by Minari, written in the layout everything else reads. Needs minari."""

import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from mvl.data.importing import write_pair
from mvl.data.names import TaskName
from mvl.data.sources import minari as source
from mvl.data.sources.episodes import Checked, Fields, checked, missing_package
from mvl.errors import DataError, MvlError

OBSERVED = 59
"""Numbers in an observation of FrankaKitchen: positions and velocities, of the robot and then of the things around it."""
ROBOT, THINGS = slice(0, 9), slice(18, 39)
"""Where the positions are in it."""
FIELDS = Fields(observations=("observations/observation",), actions=("actions",))


def positions(observations: np.ndarray) -> np.ndarray:
    """What is learned from, as D4RL has it: (..., 59) -> (..., 30), the positions without the velocities."""
    return np.concatenate([observations[..., ROBOT], observations[..., THINGS]], axis=-1)


def pull(task: TaskName, folder: Path) -> list[Path]:
    """Both files of a task, the last tenth of the episodes in the second; files at hand are kept."""
    paths = folder / f"{task}.npz", folder / f"{task}-val.npz"
    if not all(path.exists() for path in paths):
        name = f"D4RL/{str(task).replace('-', '/', 1)}"  # D4RL/kitchen/partial-v2
        _fetch(name)
        episodes = checked(source.episodes(Path(name), FIELDS), FIELDS)
        write_pair((_learned_from(episode, name) for episode in episodes), Path(name), paths)
    return list(paths)


def _learned_from(episode: Checked, name: str) -> Checked:
    """Positions alone, and actions cut to [-1, 1], as the environment does itself."""
    if episode.observations.shape[1] != OBSERVED:
        raise DataError(f"{name}: observations have {episode.observations.shape[1]} numbers; a kitchen's have {OBSERVED}.")
    return Checked(positions(episode.observations), np.clip(episode.actions, -1.0, 1.0), None)


def _fetch(name: str) -> None:
    """Into Minari's own store, whole or not at all; what is there already needs no network."""
    try:
        import minari
        from minari.storage import get_dataset_path
    except ImportError:
        raise missing_package("the kitchen's data", "minari", "kitchen") from None
    place = get_dataset_path(name)
    if place.exists():
        return
    try:
        with redirect_stdout(sys.stderr):
            minari.download_dataset(name)
    except BaseException as error:
        shutil.rmtree(place, ignore_errors=True)  # Minari would take half a dataset for a whole one
        if not isinstance(error, Exception):
            raise
        raise MvlError(
            f"{name} could not be fetched through Minari ({error}). Try again where there is a network, "
            f"or copy that folder from another machine's Minari store to {place}."
        ) from None
