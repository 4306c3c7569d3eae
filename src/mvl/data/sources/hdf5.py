"""HDF5: a file per episode (ALOHA), a group per episode (robomimic), or arrays with several episodes. Needs h5py."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mvl.data.signals import Signals
from mvl.data.sources.describing import first_signals
from mvl.data.sources.episodes import ColumnNames, RawEpisode, split_episodes
from mvl.data.sources.hdf5_walk import Walk, opened
from mvl.data.sources.reading import SILENT, Listener, by_number, files_in, listed, unchanged
from mvl.errors import DataError

ENDINGS = (".h5", ".hdf5")
OBSERVATIONS, ACTIONS = ("observations", "observation", "obs"), ("actions", "action")
"""Names of the array or group of observations, and of that of actions."""
POSITIONS = "observations/qpos"
"""ALOHA's positions of the joints, which are used without velocities and efforts unless these are named."""
DATA, MASK, TRAIN, VALID = "data", "mask", "train", "valid"
"""Groups of robomimic: of its episodes, and of lists of their names."""


def defaults(path: Path) -> ColumnNames:
    """Columns of the first episode that are observations and actions by their names; images are not among them."""
    with opened(files_in(path, *ENDINGS)[0]) as walk:
        found = walk.arrays(_groups(walk)[0])
        vectors = [name for name, array in found.items() if array.dtype.kind == "f" and array.ndim <= 2]
    actions = tuple(name for name in ACTIONS if name in found)[:1]
    plain = tuple(name for name in (*OBSERVATIONS, POSITIONS) if name in found)[:1]
    inside = tuple(name for name in vectors if name.rpartition("/")[0] in OBSERVATIONS)
    return ColumnNames(observations=plain or inside, actions=actions)


def episodes(path: Path, names: ColumnNames, listener: Listener = SILENT) -> Iterator[RawEpisode]:
    """Episodes of a file, or of all files of a folder in the order of their names."""
    files = files_in(path, *ENDINGS)
    with unchanged(*files):
        for done, file in enumerate(files):
            with opened(file) as walk:
                groups = _groups(walk)
                marks = _marks(walk, [group.name.rpartition("/")[2] for group in groups])
                if done == 0:
                    _note(walk, groups[0], names, marks, listener)
                for index, group in enumerate(groups):
                    listener.progress(done * len(groups) + index, len(files) * len(groups))
                    yield from _episodes(walk, group, names, marks)


def source_signals(path: Path, names: ColumnNames) -> Signals:
    """Names by the arrays, units by their attributes, and the rate of robomimic's environment."""
    with opened(files_in(path, *ENDINGS)[0]) as walk:
        group = _groups(walk)[0]
        arrays = walk.arrays(group)
        needed = names.needed(str(path), arrays)
        units = {name: _text(arrays[name].attrs, "units") or _text(arrays[name].attrs, "unit") for name in needed}
        hz = _control_rate(_text(group.parent.attrs, "env_args"))
    return first_signals(episodes(path, names), names, units=units, hz=hz)


def _groups(walk: Walk) -> list[Any]:
    """Groups with one episode each, in the order of their numbers; or the one group with all arrays."""
    root = walk.children(walk.root)
    place = root[DATA] if hasattr(root.get(DATA), "keys") else walk.root
    inside = {name: thing for name, thing in walk.children(place).items() if name != MASK}
    if not inside:
        raise DataError(f"{walk.path}: has no arrays; check what is in it.")
    if any(hasattr(thing, "shape") for thing in inside.values()) or {*OBSERVATIONS, *ACTIONS} & set(inside):
        return [place]
    return [inside[name] for name in sorted(inside, key=by_number)]


def _episodes(walk: Walk, group: Any, names: ColumnNames, marks: dict[str, bool]) -> Iterator[RawEpisode]:
    """The episode of a group, or its episodes if a column tells them apart."""
    where, name = f"{walk.path}, {group.name}".removesuffix(", /"), group.name.rpartition("/")[2]
    if marks and name not in marks:
        return
    arrays = walk.arrays(group)
    split = names.splits(arrays)
    needed = (split or names).needed(where, arrays)
    whole = RawEpisode(where, {name: walk.read(arrays[name]) for name in needed}, marks.get(name))
    yield from split_episodes(whole, split) if split else [whole]


def _marks(walk: Walk, names: list[str]) -> dict[str, bool]:
    """Whether an episode is held out, by the name of its group; empty if the file has no masks for training and validation."""
    mask = walk.children(walk.root).get(MASK)
    lists = walk.children(mask) if hasattr(mask, "keys") else {}
    if TRAIN not in lists or VALID not in lists:
        return {}
    train, valid = (walk.words(lists[part]) for part in (TRAIN, VALID))
    if train & valid:
        raise DataError(f"{walk.path}: {listed(train & valid)} are both in mask/train and in mask/valid; correct the masks.")
    if missing := (train | valid) - set(names):
        raise DataError(f"{walk.path}: {listed(missing)} are in its masks, but not in its data; correct the masks.")
    return {**dict.fromkeys(train, False), **dict.fromkeys(valid, True)}


def _note(walk: Walk, group: Any, names: ColumnNames, marks: dict[str, bool], listener: Listener) -> None:
    """Note what is not read, and where the division into training and validation comes from."""
    arrays = walk.arrays(group)
    unused = set(arrays) - set((names.splits(arrays) or names).needed(str(walk.path), arrays))
    images = {name for name in unused if arrays[name].dtype.kind in "iu" and (arrays[name].ndim > 2 or "image" in name)}
    for kind, found in (("images", images), ("arrays", unused - images)):
        if found:
            listener.note(f"{kind} that are not used: {listed(found)}")
    if marks:
        count = sum(marks.values())
        listener.note(f"held out as the file's masks say: {len(marks) - count} episodes for training, {count} for validation")


def _text(attributes: Any, name: str) -> str:
    """An attribute as text; empty if there is none, or it is of another type."""
    found = attributes.get(name, "")
    return found.decode() if isinstance(found, bytes) else found if isinstance(found, str) else ""


def _control_rate(env_args: str) -> float | None:
    """Steps per second of the environment that robomimic describes."""
    try:
        rate = json.loads(env_args)["env_kwargs"]["control_freq"]
    except (ValueError, KeyError, TypeError):
        return None
    return float(rate) if isinstance(rate, int | float) and 0 < rate < float("inf") else None
