"""Published datasets, fetched into OGBench's own folder: sources in order, resumed where it stopped, whole or not at all."""

import json
import os
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

from mvl.data.files import atomic, fingerprint
from mvl.data.names import TaskName
from mvl.data.sources.archive import check_archive
from mvl.errors import DataError, MvlError, UsageError

OGBENCH = "https://rail.eecs.berkeley.edu/datasets/ogbench"
CHUNK = 1 << 20
TIMEOUT = 30.0
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
    task: TaskName, folder: Path, places: list[str], report: Callable[[str], Report] = lambda name: lambda done, total: None
) -> list[Path]:
    """Both files of a task; those at hand are checked against what is known of them and kept."""
    paths = []
    for part in ("", "-val"):
        path = folder / f"{task.data}{part}.npz"
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
    """From the first source that has it. What arrived of it before is kept in `.part`, and gone on with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial, failures = path.with_name(f"{path.name}.part"), []
    for place in places:
        try:
            for done, total in _arriving(f"{place}/{path.name}", partial):
                report(done, total)
            check_archive(partial)
        except (urllib.error.URLError, HTTPException, OSError) as error:
            failures.append(f"{place}: {getattr(error, 'reason', None) or error}")
            continue
        except (zipfile.BadZipFile, DataError) as error:  # a page that says it has moved, or worse
            partial.unlink()
            failures.append(f"{place}: what it sent is no dataset ({error})")
            continue
        _remember(path, partial)
        os.replace(partial, path)
        return
    raise MvlError(
        f"{path.name} could not be fetched ({'; '.join(failures)}). Try again, name another source with --source, "
        f"or put the file into {path.parent}; tasks that can be made here: mvl data list."
    )


def _arriving(address: str, partial: Path) -> Iterator[tuple[int, int]]:
    """Write what is missing; yields bytes so far and in all. A source that cannot resume starts over."""
    have = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer: Any = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # nothing beyond what is there: either whole, or of another file
            error.close()
            yield have, have
            return
        raise
    with answer, open(partial, "ab" if answer.status == 206 else "wb") as file:
        done = file.tell()
        total = done + int(answer.headers.get("Content-Length") or 0)
        while chunk := answer.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            yield done, total
    if total and done != total:
        raise OSError(f"ended after {done} of {total} bytes")


def _known(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        return json.loads((folder / KNOWN).read_text())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise DataError(f"{folder / KNOWN} is not readable; delete it, and files are no longer compared with it.") from None


def _remember(path: Path, fetched: Path) -> None:
    """What a file is, once known; a later download that differs is refused."""
    found = {"size": fetched.stat().st_size, "sha256": fingerprint(fetched)}
    known = _known(path.parent)
    if known.get(path.name, found) != found:
        fetched.unlink()
        raise DataError(f"{path.name}: what was fetched differs from what it was before (SHA-256); nothing was kept.")
    with atomic(path.parent / KNOWN) as partial:
        partial.write_text(json.dumps({**known, path.name: found}, indent=2, sort_keys=True) + "\n")
