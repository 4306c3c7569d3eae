"""LeRobot datasets of versions 2 and 3: `meta/info.json`, and Parquet files under `data/` with rows marked by episode."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mvl.data.signals import Signals
from mvl.data.sources import hub
from mvl.data.sources.describing import first_signals, parse_head
from mvl.data.sources.episodes import ColumnNames, RawEpisode
from mvl.data.sources.parquet import batches, opened, rows_in
from mvl.data.sources.reading import SILENT, Listener, by_number, listed, unchanged
from mvl.errors import DataError, UsageError

VERSIONS = ("v2.0", "v2.1", "v3.0")
INFO = "meta/info.json"
PICTURES = ("image", "video")
"""Types of features that are not in the Parquet files, or not as numbers."""


class Part(NamedTuple):
    """Rows of one episode that were read together."""

    file: Path
    number: int
    """Of the episode."""
    columns: dict[str, np.ndarray]


def locate(source: Path) -> Path:
    """The folder itself, or, if there is none, that of the dataset with this name on the hub, which is downloaded."""
    return source if source.exists() else hub.fetch(source.as_posix(), [INFO, "data/*.parquet"])


def defaults(path: Path) -> ColumnNames:
    """Standard column names of LeRobot."""
    return ColumnNames(("observation.state",), ("action",), time="timestamp", episode="episode_index")


def episodes(path: Path, names: ColumnNames, listener: Listener = SILENT) -> Iterator[RawEpisode]:
    """Episodes in the order of the files; version 2 has one file per episode, version 3 many episodes in a file."""
    if names.ends:
        raise UsageError(f"{path}: episodes of LeRobot have numbers; leave --ends out.")
    info, files = _info(path), _files(path)
    with unchanged(path / INFO, *files):
        _check_files(path, info, files)
        pictures = [name for name, feature in _features(info).items() if feature.get("dtype") in PICTURES]
        if pictures:
            listener.note(f"images that are not used: {listed(pictures)}")
        found, rows = 0, 0
        for episode in _episodes(files, names):
            found, rows = found + 1, rows + len(episode.columns[names.episode])
            listener.progress(rows, max(rows, _total(path, info, "total_frames") or 0))
            yield episode
        _compare(path, info, "total_frames", rows)
        _compare(path, info, "total_episodes", found)


def source_signals(path: Path, names: ColumnNames) -> Signals:
    """Names, units and rate that `info.json` has."""
    info = _info(path)
    features, fps = _features(info), info.get("fps")
    labels = {name: _labels(feature.get("names")) for name, feature in features.items()}
    units = {name: str(feature.get("unit") or feature.get("units") or "") for name, feature in features.items()}
    for name, heads in labels.items():
        parsed = [parse_head(head) for head in heads]
        if heads and not units[name] and len({head.unit for head in parsed}) == 1:
            labels[name], units[name] = tuple(head.name for head in parsed), parsed[0].unit
    hz = float(fps) if isinstance(fps, int | float) and 0 < fps < float("inf") else None
    return first_signals(episodes(path, names), names, labels, units, hz)


def _labels(names: Any) -> tuple[str, ...]:
    """Names of the dimensions of a feature: a list, lists by kind of joint, or numbers by name; empty if there are none."""
    if isinstance(names, dict) and all(isinstance(place, int) for place in names.values()):
        return tuple(sorted(names, key=lambda name: int(names[name])))
    lists = list(names.values()) if isinstance(names, dict) else [names]
    if not all(isinstance(part, list) for part in lists):
        return ()
    return tuple(str(name) for part in lists for name in part)


def _info(path: Path) -> dict[str, Any]:
    """The content of `info.json`."""
    try:
        info = json.loads((path / INFO).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: not a LeRobot dataset, its {INFO} cannot be read ({error}).") from None
    if not isinstance(info, dict):
        raise DataError(f"{path / INFO}: must be a JSON object; fetch it again.")
    version = info.get("codebase_version")
    if version not in VERSIONS:
        raise DataError(f"{path / INFO}: has version {version}, but {', '.join(VERSIONS)} are read; convert it with LeRobot.")
    return info


def _features(info: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Descriptions of the columns, by name."""
    features = info.get("features")
    described = features.items() if isinstance(features, dict) else ()
    return {name: feature for name, feature in described if isinstance(feature, dict)}


def _files(path: Path) -> list[Path]:
    files = [file for file in (path / "data").rglob("*.parquet") if file.is_file()]
    if not files:
        raise DataError(f"{path}: has no Parquet files under data/; fetch them, for example with: git lfs pull")
    return sorted(files, key=lambda file: [by_number(part) for part in file.with_suffix("").parts])


def _check_files(path: Path, info: dict[str, Any], files: list[Path]) -> None:
    """Raise before anything is read if files are missing: version 2 has one per episode, in version 3 rows are counted."""
    if info["codebase_version"] < "v3":
        _compare(path, info, "total_episodes", len(files))
    else:
        _compare(path, info, "total_frames", sum(map(rows_in, files)))


def _compare(path: Path, info: dict[str, Any], name: str, found: int) -> None:
    """Raise if the data has more or fewer rows or episodes than `info.json` says."""
    expected = _total(path, info, name)
    if expected not in (None, found):
        what = name.removeprefix("total_").replace("frames", "rows")
        raise DataError(
            f"{path}: {INFO} says {expected} {what}, but {found} were found under data/; "
            f"fetch all of its files, or correct {name} to import what is there."
        )


def _total(path: Path, info: dict[str, Any], name: str) -> int | None:
    total = info.get(name)
    if total is not None and (not isinstance(total, int) or total < 0):
        raise DataError(f"{path / INFO}: {name} must be a number; fetch it again.")
    return total


def _episodes(files: list[Path], names: ColumnNames) -> Iterator[RawEpisode]:
    """Episodes, put together from their parts."""
    parts: list[Part] = []
    seen: set[int] = set()
    for part in _parts(files, names):
        if parts and part.number != parts[0].number:
            yield _whole(parts, seen)
            parts = []
        parts.append(part)
    if parts:
        yield _whole(parts, seen)


def _whole(parts: list[Part], seen: set[int]) -> RawEpisode:
    name = f"{parts[0].file}, episode {parts[0].number}"
    if parts[0].number in seen:
        raise DataError(f"{name}: has rows in two places; write all rows of an episode one after another.")
    seen.add(parts[0].number)
    return RawEpisode(name, {column: _concatenated([part.columns[column] for part in parts]) for column in parts[0].columns})


def _concatenated(pieces: list[np.ndarray]) -> np.ndarray:
    """The pieces one after another; objects if they differ in their dimensions."""
    if len({piece.shape[1:] for piece in pieces}) > 1:
        return np.empty(sum(map(len, pieces)), object)
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _parts(files: list[Path], names: ColumnNames) -> Iterator[Part]:
    """Rows of the files up to where the number of the episode changes, or a batch ends."""
    for file in files:
        with opened(file) as parquet:
            needed = names.needed(str(file), parquet.schema_arrow.names)
            for batch in batches(file, parquet, needed):
                numbers = batch[names.episode]
                if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
                    raise DataError(f"{file}: {names.episode} must have one whole number for every row.")
                cuts = np.flatnonzero(np.diff(numbers)) + 1
                for first, last in pairwise([0, *cuts.tolist(), len(numbers)]):
                    rows = {name: column[first:last] for name, column in batch.items()}
                    yield Part(file, int(numbers[first]), rows)
