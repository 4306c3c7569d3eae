"""Training and validation files written as one: prepared in a hidden folder beside them, then moved into place.

The folder holds the plan, which says what the files are made from, and, before the first file is moved, the checksums of
both. After an interruption the same plan recognizes its own files by them; it never replaces others unless told to.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mvl.errors import MvlError
from mvl.files import atomic, fingerprint

PLAN, WRITTEN = "plan.json", "written.json"


@dataclass(frozen=True)
class Pair:
    """Two files to be written."""

    paths: tuple[Path, Path]
    folder: Path
    """Where they are prepared; files that the plan needs on the way may be kept there, too."""
    plan: dict[str, Any]
    """What the files are made from, as JSON."""
    overwrite: bool = False
    """Whether files that this plan did not write may be replaced."""
    way_out: str = "give --overwrite to replace it."
    """What to do about such a file, for the error message."""

    def check(self) -> None:
        """Refuse to go on if a file is in the way."""
        for path in self.paths:
            if path.exists() and not self.overwrite and not self.wrote(path):
                raise MvlError(f"{path} exists already; {self.way_out}")

    def begin(self) -> None:
        """Open the folder, after `check`; what it holds of another plan is removed."""
        self.check()
        if not self._is_planned():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            self._note(PLAN, self.plan)

    def publish(self, *write: Callable[[Path], None]) -> None:
        """Write each file with its function, move both into place and remove the folder."""
        prepared = [self.folder / path.name for path in self.paths]
        for file, function in zip(prepared, write, strict=True):
            with atomic(file) as partial:
                function(partial)
        self._note(WRITTEN, {file.name: fingerprint(file) for file in prepared})
        self.check()  # again: a file may have come into the way meanwhile
        for file, path in zip(prepared, self.paths, strict=True):
            os.replace(file, path)
        self.clear()

    def clear(self) -> None:
        """Remove the folder; its notes last, so that an interruption leaves what `complete` needs."""
        for file in self.folder.iterdir():
            if file.name not in (PLAN, WRITTEN):
                file.unlink()
        shutil.rmtree(self.folder)

    def abandon(self) -> None:
        """Remove the folder unless one of the files has been moved already, which only its notes tell from others."""
        if not any(self.wrote(path) for path in self.paths):
            self.clear()

    def complete(self) -> bool:
        """Whether this plan has written both files, and only its folder is left to remove."""
        return all(self.wrote(path) for path in self.paths)

    def wrote(self, path: Path) -> bool:
        """Whether a file is what this plan wrote there before it was interrupted."""
        checksum = (self._noted(WRITTEN) or {}).get(path.name)
        return self._is_planned() and checksum is not None and path.is_file() and fingerprint(path) == checksum

    def _is_planned(self) -> bool:
        return self._noted(PLAN) == json.loads(json.dumps(self.plan))

    def _noted(self, name: str) -> dict[str, Any] | None:
        try:
            return json.loads((self.folder / name).read_text())
        except (OSError, ValueError):
            return None

    def _note(self, name: str, content: dict[str, Any]) -> None:
        with atomic(self.folder / name) as partial:
            partial.write_text(json.dumps(content))
