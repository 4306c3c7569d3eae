"""Times measured on this machine earlier, in a file of the user's cache folder; deleting it has them measured again."""

import json
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mvl.errors import MvlError
from mvl.files import atomic, locked

Entry = dict[str, Any]


def folder() -> Path:
    """Folder of the files, one for each kind of processor: a home folder may be shared by several machines."""
    return Path("~/.cache/mvl/times").expanduser()


def processor() -> str:
    """The name of this machine's processor, in letters, digits and dashes."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    named = next((line.partition(":")[2] for line in lines if line.startswith("model name")), platform.processor())
    return re.sub(r"[^A-Za-z0-9]+", "-", named or platform.machine()).strip("-")


class KnownTimes:
    """Measured times by a text that says what was measured. Each new one is written at once."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        """`warn` is called once if times cannot be written."""
        self.file = folder() / f"{processor()}.json"
        self.entries = self._read()
        self.warn = warn

    def add(self, key: str, entry: Entry) -> None:
        """Add a time, also to the file, to which other processes may add theirs."""
        self.entries[key] = entry
        try:
            with locked(self.file.with_name(f".{self.file.name}.lock"), f"waiting for another process that writes {self.file}"):
                together = {**self._read(), key: entry}
                with atomic(self.file) as partial:
                    partial.write_text(json.dumps(together, indent=1, sort_keys=True) + "\n")
        except (OSError, MvlError) as error:
            self.warn(f"measured times are not kept for the next time: {error}")
            self.warn = lambda line: None

    def _read(self) -> dict[str, Entry]:
        """The times in the file; none if it is missing or damaged, since they can be measured again."""
        try:
            found = json.loads(self.file.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}
