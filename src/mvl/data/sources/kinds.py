"""The formats that can be imported, by name, and which of them a source has."""

from collections import Counter
from pathlib import Path
from types import ModuleType

from mvl.data.sources import archive, hdf5, lerobot, minari, streams, table
from mvl.data.sources.reading import existing
from mvl.errors import DataError

KINDS: dict[str, ModuleType] = {
    "npz": archive,
    "csv": table,
    "hdf5": hdf5,
    "lerobot": lerobot,
    "minari": minari,
    "streams": streams,
}
"""Readers by format: `defaults` finds column names, `episodes` reads, `source_signals` tells what the columns mean."""
ENDINGS = {".npz": "npz", **dict.fromkeys(table.ENDINGS, "csv"), **dict.fromkeys(hdf5.ENDINGS, "hdf5")}
"""Formats by the ending of a file."""


def kind_of(source: Path) -> str:
    """The format of a file or folder, by its name and what is in it."""
    choice = f"say which with --kind {'|'.join(KINDS)}"
    if not existing(source).is_dir():
        if source.suffix.lower() not in ENDINGS:
            raise DataError(f"{source}: the format is not clear from its name; {choice}.")
        return ENDINGS[source.suffix.lower()]
    if (source / lerobot.INFO).exists():
        return "lerobot"
    if (source / "data" / "metadata.json").exists():
        return "minari"
    endings = Counter(file.suffix.lower() for file in source.iterdir() if file.suffix.lower() in ENDINGS)
    found = {ENDINGS[ending] for ending in endings}
    if len(found) == 1:
        return found.pop()
    if not found and any(source.glob("[!.]*/*.csv")):
        raise DataError(
            f"{source}: has folders of CSV files; if these are streams, give --kind streams and --hz, the rate to join them at."
        )
    counts = " and ".join(f"{count} {ending} file{'s' * (count > 1)}" for ending, count in sorted(endings.items()))
    raise DataError(f"{source}: has {counts or 'no file of a known format'}; {choice}.")
