"""Writes a training and a validation file together: both are prepared in a hidden folder next to them, then moved.

The folder contains the plan, which says what the files are made from, and, before the first file is moved, the checksums of
both. After an interruption the same plan recognizes its own files by them; it replaces other files only with `overwrite`.
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
    """A training and a validation file to be written."""

    paths: tuple[Path, Path]
    folder: Path
    """Where they are prepared; it may also contain intermediate files."""
    plan: dict[str, Any]
    """What the files are made from, as JSON."""
    overwrite: bool = False
    """Whether files that this plan did not write may be replaced."""
    way_out: str = "give --overwrite to replace it."
    """Advice on such a file, for the error message."""

    def check(self) -> None:
        """Raise if one of the files exists, this plan did not write it and it may not be overwritten."""
        for path in self.paths:
            if path.exists() and not self.overwrite and not self.wrote(path):
                raise MvlError(f"{path} exists already; {self.way_out}")

    def begin(self) -> None:
        """Check, then create the folder; a folder of another plan is removed first."""
        self.check()
        if not self._is_planned():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            self._write(PLAN, self.plan)

    def publish(self, *write: Callable[[Path], None]) -> None:
        """Write each file with its function, move both into place and remove the folder."""
        prepared = [self.folder / path.name for path in self.paths]
        for file, function in zip(prepared, write, strict=True):
            with atomic(file) as partial:
                function(partial)
        self._write(WRITTEN, {file.name: fingerprint(file) for file in prepared})
        self.check()  # again, since a file may have been created meanwhile
        for file, path in zip(prepared, self.paths, strict=True):
            os.replace(file, path)
        self.clear()

    def clear(self) -> None:
        """Remove the folder; plan and checksums last, because `complete` needs them after an interruption."""
        for file in self.folder.iterdir():
            if file.name not in (PLAN, WRITTEN):
                file.unlink()
        shutil.rmtree(self.folder)

    def abandon(self) -> None:
        """Remove the folder, unless a file has already been moved: its checksum is needed to recognize it."""
        if not any(self.wrote(path) for path in self.paths):
            self.clear()

    def complete(self) -> bool:
        """Whether this plan has written both files, so that only its folder has to be removed."""
        return all(self.wrote(path) for path in self.paths)

    def wrote(self, path: Path) -> bool:
        """Whether this plan wrote the file before it was interrupted."""
        checksum = (self._read(WRITTEN) or {}).get(path.name)
        return self._is_planned() and checksum is not None and path.is_file() and fingerprint(path) == checksum

    def _is_planned(self) -> bool:
        return bool(self._read(PLAN) == json.loads(json.dumps(self.plan)))

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            content: dict[str, Any] = json.loads((self.folder / name).read_text())
        except (OSError, ValueError):
            return None
        return content

    def _write(self, name: str, content: dict[str, Any]) -> None:
        with atomic(self.folder / name) as partial:
            partial.write_text(json.dumps(content))
