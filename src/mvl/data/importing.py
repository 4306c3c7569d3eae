"""Imports a user's data: reads episodes of a known format, checks them and writes them in OGBench's layout."""

from collections import Counter
from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from mvl.data.columns_file import Columns
from mvl.data.pairs import Pair
from mvl.data.sources import archive, hdf5, lerobot, minari, streams, table
from mvl.data.sources.episodes import Checked, ColumnNames, checked
from mvl.data.sources.reading import SILENT, Listener, existing
from mvl.errors import DataError, UsageError, unknown
from mvl.files import new_files, refuse_links

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


class Imported(NamedTuple):
    """The files that were written, their number of episodes, and whether actions were rescaled."""

    train: Path
    validation: Path
    episodes: int
    rescaled: bool


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
    counts = " and ".join(f"{count} {ending} file{'s' * (count > 1)}" for ending, count in sorted(endings.items()))
    raise DataError(f"{source}: has {counts or 'no file of a known format'}; {choice}.")


def import_data(
    source: Path,
    to: Path,
    *,
    kind: str | None = None,
    columns: ColumnNames | None = None,
    held_out: float = 0.1,
    rescale: bool = False,
    overwrite: bool = False,
    listener: Listener = SILENT,
) -> Imported:
    """Write the training file `to` and its `-val` file from a source; the last share of its episodes is held out.

    After an interruption the same call writes both again; files that it did not write are replaced only with `overwrite`.
    """
    if kind is not None and kind not in KINDS:
        raise unknown("format", kind, KINDS)
    kind = kind or kind_of(source)
    names = columns or ColumnNames()
    if names.clock and kind != "streams":
        raise UsageError("--hz and --join are for streams; leave them out, or give --kind streams.")
    plan = {"source": str(source.absolute()), "kind": kind, "fields": names, "held_out": held_out, "rescale": rescale}
    pair = pair_at(to, plan, overwrite)
    refuse_links(*pair.paths)
    new_files(pair.paths, overwrite=True)  # checks the names and the folder; the next line, what is there
    pair.check()  # before the source is read, which may take long
    reader = KINDS[kind]
    place = getattr(reader, "locate", existing)(source)
    chosen = completed(names, reader.defaults(place))
    if not names.observations or not names.actions:
        listener.note(f"observations: {', '.join(chosen.observations)}; actions: {', '.join(chosen.actions)}")
    return write_pair(checked(reader.episodes(place, chosen, listener), chosen), source, pair, held_out, rescale)


def completed(names: ColumnNames, defaults: ColumnNames) -> ColumnNames:
    """The names that were given; the format's own for the rest."""
    given: dict[str, Any] = {field: value for field, value in names._asdict().items() if value}
    return defaults._replace(**given)


def pair_at(to: Path, plan: dict[str, Any], overwrite: bool = False, way_out: str = Pair.way_out) -> Pair:
    """The training file `to` and its validation file."""
    return Pair((to, to.with_name(f"{to.stem}-val.npz")), to.with_name(f".{to.stem}.importing"), plan, overwrite, way_out)


def write_pair(found: Iterable[Checked], source: Path, pair: Pair, held_out: float = 0.1, rescale: bool = False) -> Imported:
    """Write episodes to a training and a validation file, one episode at a time.

    The source may say which episodes are for validation; otherwise the last share of them is.
    """
    episodes = iter(found)
    first = next(episodes, None)
    if first is None:
        raise DataError(f"{source}: has no episodes; check what is in it.")
    pair.begin()
    try:
        with Columns(pair.folder) as columns:
            marks = [_append(columns, episode) for episode in chain([first], episodes)]
            side = for_validation(marks, held_out, source)
            actions = columns.columns["actions"]
            scale = action_range(actions.lowest, actions.highest, source, rescale)
            pair.publish(*(partial(_save, columns, chosen, scale) for chosen in (~side, side)))
    except BaseException:
        pair.abandon()
        raise
    return Imported(*pair.paths, len(marks), scale is not None)


def _append(columns: Columns, episode: Checked) -> bool | None:
    """Add an episode; returns whether the source says that it is held out."""
    goals = {} if episode.goals is None else {"goals": episode.goals}
    columns.append({"observations": episode.observations, "actions": episode.actions, **goals})
    return episode.held_out


def for_validation(marks: list[bool | None], held_out: float, source: Path) -> np.ndarray:
    """Which episodes are for validation, (episodes,): those that the source marks, or the last share if it marks none."""
    count = max(1, round(held_out * len(marks)))
    last = np.arange(len(marks)) >= len(marks) - count
    chosen = last if all(mark is None for mark in marks) else np.array([bool(mark) for mark in marks])
    if len(marks) == 1:
        raise DataError(
            f"{source}: has one episode, but training and validation need one each; import several, "
            "or name the column that tells them apart (--episode or --ends)."
        )
    if not chosen.any() or (chosen is not last and chosen.all()):
        side = "training" if chosen.any() else "validation"
        raise DataError(f"{source}: it marks no episode for {side}; correct the marks, or remove them and use --held-out.")
    if not 0 < held_out < 1 or chosen.all():
        raise UsageError(
            f"{source}: holding out {held_out} of {len(marks)} episodes leaves one side empty; choose another share."
        )
    return chosen


def _save(columns: Columns, chosen: np.ndarray, scale: np.ndarray | None, path: Path) -> None:
    if scale is None:
        return columns.save(path, chosen)
    low, high = scale
    rescaled = {"actions": lambda rows: 2 * (rows - low) / (high - low) - 1}
    columns.save(path, chosen, rescaled, action_range=scale.astype(np.float32))


def action_range(low: np.ndarray, high: np.ndarray, source: Path, rescale: bool) -> np.ndarray | None:
    """Lowest and highest action of every dimension, (2, a), if actions are to be scaled to [-1, 1]; otherwise None."""
    if rescale:
        return np.stack([low, np.where(high > low, high, low + 1)])
    if max(-low.min(), high.max()) > 1 + 1e-5:
        worst = int(np.argmax(np.maximum(-low, high)))
        raise DataError(
            f"{source}: actions must lie in [-1, 1], but dimension {worst} reaches from {low[worst]:.4g} to {high[worst]:.4g}; "
            "give --rescale to scale every dimension to that range (policies still return your units)."
        )
    return None
