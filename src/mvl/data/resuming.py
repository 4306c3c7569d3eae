"""Resumable HTTP downloads: a partial file is continued only if the file at the same address has not changed."""

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from mvl.files import atomic

CHUNK = 1 << 20
TIMEOUT = 30.0


@dataclass(frozen=True)
class Version:
    """The version of a file, by the HTTP headers of its response; an empty string or zero for headers that are missing."""

    address: str
    etag: str
    modified: str
    """The Last-Modified date if it is at least a second older than the response; else the file may change without a new date."""
    total: int
    """Bytes of the whole file."""

    @classmethod
    def of(cls, address: str, response: Any) -> "Version":
        """The version in a response with the whole file; to be called before the body is read."""
        return cls(address, response.headers.get("ETag", ""), _strong_date(response.headers), response.length or 0)

    @property
    def validator(self) -> str:
        """Value of `If-Range`; empty if the source offers no strong one (RFC 9110, 13.1.5)."""
        return ("" if self.etag.startswith("W/") else self.etag) if self.etag else self.modified

    def continued_by(self, response: Any, start: int) -> bool:
        """Whether a partial response (206) has the bytes of this version from `start` on."""
        headers, named = response.headers, "ETag" if self.etag else "Last-Modified"
        sent = re.fullmatch(rf"bytes {start}-\d+/({self.total}|\*)", headers.get("Content-Range", ""))
        return sent is not None and headers.get(named, self.validator) == self.validator


def _strong_date(headers: Message) -> str:
    """The Last-Modified date of a response if it identifies the version, otherwise an empty string (RFC 9110, 8.8.2.2)."""
    try:
        age = parsedate_to_datetime(headers["Date"]) - parsedate_to_datetime(headers["Last-Modified"])
    except (TypeError, ValueError):
        return ""
    return headers["Last-Modified"] if age.total_seconds() >= 1 else ""


def download_chunks(address: str, partial: Path) -> Iterator[tuple[int, int]]:
    """Download into `partial`; yields the bytes so far and the bytes in total after each chunk.

    The partial file of an interrupted download is continued if it has the same address and version; otherwise it is
    replaced as soon as the server responds.
    """
    version, have = _read_note(partial), partial.stat().st_size if partial.exists() else 0
    if version is None or version.address != address or not version.validator or have > version.total:
        version, have = None, 0
    elif have == version.total > 0:  # interrupted after the last byte
        yield have, have
        return
    response, start = _open(address, version, have)
    with response:
        if version is None or not start:
            version = Version.of(address, response)
            _write_note(partial, version)
        yield from _write_body(response, partial, start, version.total)


def discard(partial: Path) -> None:
    """Remove a partial file and the note of its version."""
    partial.unlink(missing_ok=True)
    _note_path(partial).unlink(missing_ok=True)


def finish(partial: Path, path: Path) -> None:
    """Move a completed download to its final path."""
    os.replace(partial, path)
    _note_path(partial).unlink(missing_ok=True)


def _open(address: str, version: Version | None, have: int) -> tuple[Any, int]:
    """A response, and the position of its first byte in the file: `have`, or 0 if the server sends the whole file."""
    if version is not None and have:
        wanted = {"Range": f"bytes={have}-", "If-Range": version.validator}
        try:
            response: Any = urllib.request.urlopen(urllib.request.Request(address, headers=wanted), timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            if error.code != 416:
                raise
            error.close()  # the file is shorter than the partial one, so it is another version
        else:
            if response.status != 206:
                return response, 0
            if version.continued_by(response, have):
                return response, have
            response.close()
    response = urllib.request.urlopen(address, timeout=TIMEOUT)
    if response.status == 206:
        response.close()
        raise OSError("sent a part of the file when the whole was requested")
    return response, 0


def _write_body(response: Any, partial: Path, done: int, total: int) -> Iterator[tuple[int, int]]:
    """Append the body to a partial file of `done` bytes; yields the bytes so far and in total."""
    with open(partial, "ab" if done else "wb") as file:
        while chunk := response.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            yield done, total or done
    if total and done != total:
        raise OSError(f"ended after {done} of {total} bytes")


def _note_path(partial: Path) -> Path:
    """File that has the version of a partial file."""
    return partial.with_name(f"{partial.name}.json")


def _read_note(partial: Path) -> Version | None:
    """The version of a partial file, if it is known."""
    try:
        return Version(**json.loads(_note_path(partial).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _write_note(partial: Path, version: Version) -> None:
    """Save the version before its first byte is written, after removing the bytes of any other version."""
    partial.unlink(missing_ok=True)
    with atomic(_note_path(partial)) as file:
        file.write_text(json.dumps(asdict(version)) + "\n")
