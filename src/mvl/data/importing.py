"""Imports a user's data: reads episodes of a known format, checks them and writes them in OGBench's layout."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

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
    """Write episodes to a training and a validation file; the last share of them is for validation."""
    episodes = list(found)
    count = max(1, round(held_out * len(episodes)))
    if not 0 < held_out < 1 or count >= len(episodes):
        raise UsageError(
            f"{source}: holding out {held_out} of {len(episodes)} episodes leaves one side empty; choose another share."
        )
    scale = action_range(episodes, source, rescale)
    parts = episodes[:-count], episodes[-count:]
    pair.begin()
    try:
        pair.publish(*(partial(_save, part, scale) for part in parts))
    except BaseException:
        pair.abandon()
        raise
    return Imported(*pair.paths, len(episodes), scale is not None)


def _save(episodes: list[Checked], scale: np.ndarray | None, path: Path) -> None:
    np.savez_compressed(path, **_columns(episodes, scale))


def action_range(episodes: list[Checked], source: Path, rescale: bool) -> np.ndarray | None:
    """Lowest and highest action of every dimension, (2, a), if actions are to be scaled to [-1, 1]; otherwise None."""
    low = np.min([episode.actions.min(axis=0) for episode in episodes], axis=0)
    high = np.max([episode.actions.max(axis=0) for episode in episodes], axis=0)
    if rescale:
        return np.stack([low, np.where(high > low, high, low + 1)])
    if max(-low.min(), high.max()) > 1 + 1e-5:
        worst = int(np.argmax(np.maximum(-low, high)))
        raise DataError(
            f"{source}: actions must lie in [-1, 1], but dimension {worst} reaches from {low[worst]:.4g} to {high[worst]:.4g}; "
            "give --rescale to scale every dimension to that range (policies still return your units)."
        )
    return None


def _columns(episodes: list[Checked], scale: np.ndarray | None) -> dict[str, Any]:
    """Episodes as columns in OGBench's layout, with goals and the range of actions if there are any."""
    actions = np.concatenate([episode.actions for episode in episodes])
    columns = {
        "observations": np.concatenate([episode.observations for episode in episodes]),
        "actions": actions if scale is None else 2 * (actions - scale[0]) / (scale[1] - scale[0]) - 1,
        "terminals": np.concatenate([np.arange(len(e.actions)) == len(e.actions) - 1 for e in episodes]),
    }
    goals = [episode.goals for episode in episodes if episode.goals is not None]
    extra = {} if scale is None else {"action_range": scale.astype(np.float32)}
    return {**columns, **({"goals": np.concatenate(goals)} if goals else {}), **extra}
