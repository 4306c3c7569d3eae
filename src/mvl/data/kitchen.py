"""D4RL's kitchen demonstrations: fetched by Minari, written in the layout everything else reads. Needs minari."""

import os
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from mvl.data.files import locked
from mvl.data.importing import pair_at, write_pair
from mvl.data.names import TaskName
from mvl.data.sources import minari as source
from mvl.data.sources.episodes import Checked, Fields, checked, missing_package
from mvl.errors import DataError, MvlError

OBSERVED = 59
"""Numbers in an observation of FrankaKitchen: positions and velocities, of the robot and then of the things around it."""
ROBOT, THINGS = slice(0, 9), slice(18, 39)
"""Where the positions are in it."""
STORE = "MINARI_DATASETS_PATH"
"""Environment variable with the folder that Minari keeps datasets in."""
FIELDS = Fields(observations=("observations/observation",), actions=("actions",))


def positions(observations: np.ndarray) -> np.ndarray:
    """What is learned from, as D4RL has it: (..., 59) -> (..., 30), the positions without the velocities."""
    return np.concatenate([observations[..., ROBOT], observations[..., THINGS]], axis=-1)


def pull(task: TaskName, folder: Path) -> list[Path]:
    """Both files of a task, the last tenth of the episodes in the second; files at hand are kept."""
    name = f"D4RL/{str(task).replace('-', '/', 1)}"  # D4RL/kitchen/partial-v2
    way_out = "move it away, or put the other file of the pair beside it, and pull again."
    pair = pair_at(folder / f"{task}.npz", {"source": name}, way_out=way_out)
    if not all(path.exists() for path in pair.paths):
        pair.check()
        _fetch(name)
        episodes = checked(source.episodes(Path(name), FIELDS), FIELDS)
        write_pair((_learned_from(episode, name) for episode in episodes), Path(name), pair)
    elif pair.complete():  # interrupted after both were written
        pair.clear()
    return list(pair.paths)


def _learned_from(episode: Checked, name: str) -> Checked:
    """Positions alone, and actions cut to [-1, 1], as the environment does itself."""
    if episode.observations.shape[1] != OBSERVED:
        raise DataError(f"{name}: observations have {episode.observations.shape[1]} numbers; a kitchen's have {OBSERVED}.")
    return Checked(positions(episode.observations), np.clip(episode.actions, -1.0, 1.0), None)


def _fetch(name: str) -> None:
    """Have Minari download a dataset into its store, unless it is there; it appears there whole or not at all."""
    try:
        from minari.storage import get_dataset_path
    except ImportError:
        raise missing_package("the kitchen's data", "minari", "kitchen") from None
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
