"""Imports a user's data: reads episodes of a known format, checks them and writes them in OGBench's layout."""

from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from mvl.data.columns_file import Columns
from mvl.data.pairs import Pair
from mvl.data.sources import archive, hdf5, lerobot, minari, table
from mvl.data.sources.episodes import Checked, ColumnNames, checked
from mvl.errors import DataError, UsageError, unknown

KINDS: dict[str, ModuleType] = {"npz": archive, "csv": table, "hdf5": hdf5, "lerobot": lerobot, "minari": minari}
DEFAULTS = {"lerobot": lerobot.DEFAULT, "minari": minari.DEFAULT}
"""Column names of formats that have standard ones."""
PLAIN = ColumnNames(observations=("observations",), actions=("actions",))


class Imported(NamedTuple):
    """The files that were written, their number of episodes, and whether actions were rescaled."""

    train: Path
    validation: Path
    episodes: int
    rescaled: bool


def kind_of(source: Path) -> str:
    """The format of a file or folder, by its name and what is in it."""
    endings = {".npz": "npz", ".csv": "csv", ".h5": "hdf5", ".hdf5": "hdf5"}
    if (source / "meta" / "info.json").exists():
        return "lerobot"
    if source.is_dir():
        found = {endings[file.suffix] for file in source.iterdir() if file.suffix in endings}
        if len(found) == 1:
            return found.pop()
        what = f"files of {len(found)} formats" if found else "no file of a known format"
        raise DataError(f"{source}: has {what}; say which with --kind {'|'.join(KINDS)}.")
    if source.suffix in endings:
        return endings[source.suffix]
    raise DataError(f"{source}: the format is not clear from its name; name it with --kind {'|'.join(KINDS)}.")


def import_data(
    source: Path,
    to: Path,
    *,
    kind: str | None = None,
    columns: ColumnNames | None = None,
    held_out: float = 0.1,
    rescale: bool = False,
    overwrite: bool = False,
) -> Imported:
    """Write the training file `to` and its `-val` file from a source; the last share of its episodes is held out.

    After an interruption the same call writes both again; files that it did not write are replaced only with `overwrite`.
    """
    if kind is not None and kind not in KINDS:
        raise unknown("format", kind, KINDS)
    kind = kind or kind_of(source)
    if kind != "minari" and not source.exists():
        raise DataError(f"{source} does not exist; check the path.")
    chosen = columns or DEFAULTS.get(kind, PLAIN)
    plan = {"source": str(source.absolute()), "kind": kind, "fields": chosen, "held_out": held_out, "rescale": rescale}
    pair = pair_at(to, plan, overwrite)
    pair.check()  # before the source is read, which may take long
    return write_pair(checked(KINDS[kind].episodes(source, chosen), chosen), source, pair, held_out, rescale)


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
        raise DataError(f"{source}: has one episode, but training and validation need one each; import a folder of several.")
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
