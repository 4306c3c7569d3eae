"""Generated episodes as a robot lab has them: one HDF5 file per episode. Needs h5py."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mvl.errors import MvlError
from mvl.extras import missing
from mvl.files import atomic

FILES = "episode_*.hdf5"


class Recording(NamedTuple):
    """An episode as a lab records it."""

    arrays: dict[str, np.ndarray]
    """By their path in the file, with rows along the first axis."""
    attributes: dict[str, float | str]
    """Of the file."""


@dataclass(frozen=True)
class RawFolder:
    """A folder of recordings to be written."""

    path: Path
    recorded: Callable[[dict[str, np.ndarray]], Recording]
    """An episode's columns -> its recording."""
    origin: dict[str, Any]
    """Task and seed, which every file has as attributes; files with the same ones are replaced."""
    overwrite: bool = False
    """Whether other recordings may be replaced too."""

    def check(self) -> None:
        """Raise if the folder cannot be written, before anything is generated."""
        if missing("h5py"):
            raise MvlError("--raw needs h5py; install it with: pip install 'mollified-value-learning[formats]'")
        if self.path.exists() and not self.path.is_dir():
            raise MvlError(f"{self.path} is not a folder; name another one with --raw.")
        for file in self._files():
            if not self.overwrite and not self._wrote(file):
                raise MvlError(f"{file} exists already; give --overwrite to replace it, or name another folder with --raw.")

    def write(self, episodes: list[Path]) -> None:
        """Write a recording of each of these archives of columns; earlier ones are removed."""
        import h5py

        self.check()  # again, since files may have been created meanwhile
        self.path.mkdir(parents=True, exist_ok=True)
        for file in self._files():
            file.unlink()
        for number, episode in enumerate(episodes):
            with np.load(episode) as columns:
                recording = self.recorded({name: columns[name] for name in columns.files})
            with (
                atomic(self.path / FILES.replace("*", f"{number:04}")) as partial,
                h5py.File(partial, "w", locking=False) as file,  # `atomic` holds the lock
            ):
                for name, array in recording.arrays.items():
                    file.create_dataset(name, data=array)
                file.attrs.update({**recording.attributes, **self.origin})

    def _files(self) -> list[Path]:
        return sorted(self.path.glob(FILES))

    def _wrote(self, path: Path) -> bool:
        """Whether a file has the same origin."""
        import h5py

        try:
            with h5py.File(path, "r") as file:
                return {name: file.attrs.get(name) for name in self.origin} == self.origin
        except OSError:
            return False
