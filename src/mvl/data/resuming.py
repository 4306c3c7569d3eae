"""Resumable HTTP downloads: a partial file is continued only with bytes of the same version of the same address."""

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
    """What a source says about the bytes it sends; an empty string or zero stands for what it does not say."""

    address: str
    etag: str
    modified: str
    """The Last-Modified date, if it is at least a second older than the answer; a younger file may change once more under it."""
    total: int
    """Bytes of the whole file."""

    @classmethod
    def of(cls, address: str, answer: Any) -> "Version":
        """The version an answer with the whole file is of; to be called before its body is read."""
        return cls(address, answer.headers.get("ETag", ""), _strong_date(answer.headers), answer.length or 0)

    @property
    def validator(self) -> str:
        """Value of `If-Range`; empty if the source offers no strong one (RFC 9110, 13.1.5)."""
        return ("" if self.etag.startswith("W/") else self.etag) if self.etag else self.modified

    def continued_by(self, answer: Any, start: int) -> bool:
        """Whether a partial answer (206) holds the bytes of this version from `start` on."""
        headers, named = answer.headers, "ETag" if self.etag else "Last-Modified"
        sent = re.fullmatch(rf"bytes {start}-\d+/({self.total}|\*)", headers.get("Content-Range", ""))
        return sent is not None and headers.get(named, self.validator) == self.validator


def _strong_date(headers: Message) -> str:
    """The Last-Modified date of an answer if it identifies the version, otherwise an empty string (RFC 9110, 8.8.2.2)."""
    try:
        age = parsedate_to_datetime(headers["Date"]) - parsedate_to_datetime(headers["Last-Modified"])
    except (TypeError, ValueError):
        return ""
    return headers["Last-Modified"] if age.total_seconds() >= 1 else ""


def arriving(address: str, partial: Path) -> Iterator[tuple[int, int]]:
    """Download into `partial`; yields bytes so far and in all.

    What an interrupted download left there is continued if it is of the same version of the same address. Otherwise it is
    replaced as soon as the source answers.
    """
    version, have = _noted(partial), partial.stat().st_size if partial.exists() else 0
    if version is None or version.address != address or not version.validator or have > version.total:
        version, have = None, 0
    elif have == version.total > 0:  # interrupted after the last byte
        yield have, have
        return
    answer, start = _opened(address, version, have)
    with answer:
        if version is None or not start:
            version = Version.of(address, answer)
            _note(partial, version)
        yield from _written(answer, partial, start, version.total)


def discard(partial: Path) -> None:
    """Remove a partial file and what is noted of it."""
    partial.unlink(missing_ok=True)
    _note_of(partial).unlink(missing_ok=True)


def finish(partial: Path, path: Path) -> None:
    """Move a completed download into its place."""
    os.replace(partial, path)
    _note_of(partial).unlink(missing_ok=True)


def _opened(address: str, version: Version | None, have: int) -> tuple[Any, int]:
    """An answer of the source, and where its bytes start: after those at hand, or at zero if it sends the whole file."""
    if version is not None and have:
        wanted = {"Range": f"bytes={have}-", "If-Range": version.validator}
        try:
            answer: Any = urllib.request.urlopen(urllib.request.Request(address, headers=wanted), timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            if error.code != 416:
                raise
            error.close()  # the file ends before what is at hand does: it is another one
        else:
            if answer.status != 206:
                return answer, 0
            if version.continued_by(answer, have):
                return answer, have
            answer.close()
    answer = urllib.request.urlopen(address, timeout=TIMEOUT)
    if answer.status == 206:
        answer.close()
        raise OSError("sent a part of the file when asked for all of it")
    return answer, 0


def _written(answer: Any, partial: Path, done: int, total: int) -> Iterator[tuple[int, int]]:
    with open(partial, "ab" if done else "wb") as file:
        while chunk := answer.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            yield done, total or done
    if total and done != total:
        raise OSError(f"ended after {done} of {total} bytes")


def _note_of(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.json")


def _noted(partial: Path) -> Version | None:
    """The version a partial file is of, if that is known."""
    try:
        return Version(**json.loads(_note_of(partial).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _note(partial: Path, version: Version) -> None:
    """Note the version before its first byte is written; bytes of another one are removed before that."""
    partial.unlink(missing_ok=True)
    with atomic(_note_of(partial)) as file:
        file.write_text(json.dumps(asdict(version)) + "\n")
