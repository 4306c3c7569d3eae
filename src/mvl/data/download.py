"""Downloads published datasets from the first source that has them; a file gets its name only when it is complete."""

import json
import os
import urllib.error
import zipfile
import zlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any

from mvl.data.resuming import discard, download_chunks, finish
from mvl.data.sources.archive import check_archive
from mvl.errors import DataError, MvlError, UsageError
from mvl.files import atomic, fingerprint, locked

OGBENCH = "https://rail.eecs.berkeley.edu/datasets/ogbench"
CHECKSUMS = "checksums.json"
"""File in the folder of the data: size and SHA-256 of every file when it was first downloaded."""

Report = Callable[[int, int], None]
"""Progress callback: called with the bytes so far and the bytes in total."""


def sources(given: list[str] | None = None) -> list[str]:
    """Addresses to download from, in order: those given, those of `$MVL_SOURCES` (separated by commas), OGBench's own."""
    named = [*(given or []), *os.environ.get("MVL_SOURCES", "").split(",")]
    found = [place.strip().rstrip("/") for place in [*named, OGBENCH] if place.strip()]
    for place in found:
        if not place.startswith(("http://", "https://")):
            raise UsageError(f"a source is an http or https address, not {place}.")
    return found


def pull(
    name: str, folder: Path, places: list[str], report: Callable[[str], Report] = lambda name: lambda done, total: None
) -> list[Path]:
    """Paths of the training and the validation file of a dataset, downloaded if missing and otherwise verified."""
    paths = []
    for part in ("", "-val"):
        path = folder / f"{name}{part}.npz"
        if path.exists():
            verify(path)
        else:
            fetch(path, places, report(path.name))
        paths.append(path)
    return paths


def verify(path: Path) -> None:
    """Raise if a file differs from the one that was downloaded; a file that was not downloaded is not checked."""
    known = _recorded_checksums(path.parent).get(path.name)
    if known and (path.stat().st_size != known["size"] or fingerprint(path) != known["sha256"]):
        raise DataError(f"{path} is not the file that was fetched (its size or SHA-256 differs); delete it and pull again.")


def fetch(path: Path, places: list[str], report: Report) -> None:
    """Download a file from the first source that has all of it.

    An interrupted download stays in `.part` and is continued from the same source, unless the file there has changed. The
    checksum is recorded when the file is complete and the archive is intact. One process downloads; others that need the
    same file wait for it.
    """
    with locked(path.with_name(f".{path.name}.lock"), f"waiting for another process that fetches {path}"):
        if path.exists():  # the other process has downloaded it
            verify(path)
        else:
            _fetch(path, places, report)


def _fetch(path: Path, places: list[str], report: Report) -> None:
    partial, failures = path.with_name(f"{path.name}.part"), []
    for place in places:
        try:
            for done, total in download_chunks(f"{place}/{path.name}", partial):
                report(done, total)
            _check_complete(partial)
        except (urllib.error.URLError, HTTPException, OSError) as error:
            failures.append(f"{place}: {getattr(error, 'reason', None) or error}")
            continue
        except DataError as error:  # for example a page that says the file has moved
            discard(partial)
            failures.append(f"{place}: what it sent is no dataset ({error})")
            continue
        _record_checksum(path, partial)
        finish(partial, path)
        return
    raise MvlError(
        f"{path.name} could not be fetched ({'; '.join(failures)}); try again, name another source with --source, "
        f"or put the file into {path.parent} (mvl data list shows which tasks can be generated instead)."
    )


def _check_complete(partial: Path) -> None:
    """Raise if a file is not a zip archive of arrays, or if one of them does not match its checksum in the archive."""
    try:
        check_archive(partial)
        with zipfile.ZipFile(partial) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise DataError(str(error)) from None
    if damaged:
        raise DataError(f"{damaged} is damaged")


def _recorded_checksums(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        checksums: dict[str, dict[str, Any]] = json.loads((folder / CHECKSUMS).read_text())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise DataError(f"{folder / CHECKSUMS} is not readable; delete it, and files that exist will not be verified.") from None
    return checksums


def _record_checksum(path: Path, fetched: Path) -> None:
    """Record size and SHA-256 of the first download of a file; raise if a later download differs."""
    found = {"size": fetched.stat().st_size, "sha256": fingerprint(fetched)}
    known = _recorded_checksums(path.parent)
    if known.get(path.name, found) != found:
        discard(fetched)
        raise DataError(
            f"{path.name}: the download differs from an earlier one (SHA-256) and was not kept; "
            f"if a new version was published, delete its entry in {path.parent / CHECKSUMS} and pull again."
        )
    with atomic(path.parent / CHECKSUMS) as partial:
        partial.write_text(json.dumps({**known, path.name: found}, indent=2, sort_keys=True) + "\n")
