"""Published datasets, fetched into OGBench's own folder from the first source that has them; files appear whole or not at all."""

import json
import os
import urllib.error
import zipfile
import zlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any

from mvl.data.resuming import arriving, discard, finish
from mvl.data.sources.archive import check_archive
from mvl.errors import DataError, MvlError, UsageError
from mvl.files import atomic, fingerprint, locked

OGBENCH = "https://rail.eecs.berkeley.edu/datasets/ogbench"
KNOWN = "checksums.json"
"""Beside the data: size and SHA-256 of every file as it was first fetched whole."""

Report = Callable[[int, int], None]
"""Called with bytes so far and bytes in all."""


def sources(given: list[str] | None = None) -> list[str]:
    """Where to look, in order: what the caller names, what `$MVL_SOURCES` names (comma between two), OGBench's own host."""
    named = [*(given or []), *os.environ.get("MVL_SOURCES", "").split(",")]
    found = [place.strip().rstrip("/") for place in [*named, OGBENCH] if place.strip()]
    for place in found:
        if not place.startswith(("http://", "https://")):
            raise UsageError(f"a source is an http or https address, not {place}.")
    return found


def pull(
    name: str, folder: Path, places: list[str], report: Callable[[str], Report] = lambda name: lambda done, total: None
) -> list[Path]:
    """Both files of a dataset; files that exist are verified and kept."""
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
    """Refuse a file that is not the one that was fetched; one that was never fetched is taken as it is."""
    known = _known(path.parent).get(path.name)
    if known and (path.stat().st_size != known["size"] or fingerprint(path) != known["sha256"]):
        raise DataError(f"{path} is not the file that was fetched (its size or SHA-256 differs); delete it and pull again.")


def fetch(path: Path, places: list[str], report: Report) -> None:
    """Download a file from the first source that has all of it.

    An interrupted download stays in `.part` and is continued from the source it came from, unless that has changed. Its
    checksum is noted once all bytes of one version are there and the archive is intact. One process downloads; others that
    want the same file wait for it.
    """
    with locked(path.with_name(f".{path.name}.lock"), f"waiting for another process that fetches {path}"):
        if path.exists():  # fetched by the process waited for
            verify(path)
        else:
            _fetch(path, places, report)


def _fetch(path: Path, places: list[str], report: Report) -> None:
    partial, failures = path.with_name(f"{path.name}.part"), []
    for place in places:
        try:
            for done, total in arriving(f"{place}/{path.name}", partial):
                report(done, total)
            _check_whole(partial)
        except (urllib.error.URLError, HTTPException, OSError) as error:
            failures.append(f"{place}: {getattr(error, 'reason', None) or error}")
            continue
        except DataError as error:  # for example a page that says the file has moved
            discard(partial)
            failures.append(f"{place}: what it sent is no dataset ({error})")
            continue
        _remember(path, partial)
        finish(partial, path)
        return
    raise MvlError(
        f"{path.name} could not be fetched ({'; '.join(failures)}). Try again, name another source with --source, "
        f"or put the file into {path.parent}; tasks that can be made here: mvl data list."
    )


def _check_whole(partial: Path) -> None:
    """Refuse what is no archive of arrays, and one whose members do not have the checksums it notes of them."""
    try:
        check_archive(partial)
        with zipfile.ZipFile(partial) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise DataError(str(error)) from None
    if damaged:
        raise DataError(f"{damaged} is damaged")


def _known(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        return json.loads((folder / KNOWN).read_text())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise DataError(f"{folder / KNOWN} is not readable; delete it, and files are no longer compared with it.") from None


def _remember(path: Path, fetched: Path) -> None:
    """Note size and SHA-256 of a file when it is first fetched; refuse a later download that differs."""
    found = {"size": fetched.stat().st_size, "sha256": fingerprint(fetched)}
    known = _known(path.parent)
    if known.get(path.name, found) != found:
        discard(fetched)
        raise DataError(
            f"{path.name}: what was fetched differs from what it was before (SHA-256), so nothing was kept; "
            f"if it was published anew, delete its entry in {path.parent / KNOWN} and pull again."
        )
    with atomic(path.parent / KNOWN) as partial:
        partial.write_text(json.dumps({**known, path.name: found}, indent=2, sort_keys=True) + "\n")
