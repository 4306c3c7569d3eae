"""Imports a user's data: reads episodes of a known format, checks them and writes them in OGBench's layout."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from mvl.data.imports.changes import UNCHANGED, Changes, check_names, chosen, prepare
from mvl.data.imports.columns_file import Columns
from mvl.data.imports.encoding import Encoding, Survey, encoding
from mvl.data.pairs import Pair
from mvl.data.signals import Dimension, Signals, by_kind, from_kinds
from mvl.data.sources.episodes import Checked, ColumnNames, checked
from mvl.data.sources.kinds import KINDS, kind_of
from mvl.data.sources.npz import load_in_place
from mvl.data.sources.reading import SILENT, Listener, existing
from mvl.errors import DataError, UsageError, unknown
from mvl.files import new_files, refuse_links

SAMPLE = 2**26
"""Bytes of the episodes that changes are fitted to."""


class Imported(NamedTuple):
    """The files that were written, their number of episodes, whether actions were rescaled, and what looked wrong on the way."""

    train: Path
    validation: Path
    episodes: int
    rescaled: bool
    notes: tuple[str, ...] = ()


def import_data(
    source: Path,
    to: Path,
    *,
    kind: str | None = None,
    columns: ColumnNames | None = None,
    held_out: float = 0.1,
    rescale: bool = False,
    changes: Changes = UNCHANGED,
    overwrite: bool = False,
    listener: Listener = SILENT,
) -> Imported:
    """Write the training file `to` and its `-val` file from a source; the last share of its episodes is held out.

    `changes` says what is changed about the episodes. After an interruption the same call writes both again; files that it did
    not write are replaced only with `overwrite`.
    """
    if kind is not None and kind not in KINDS:
        raise unknown("format", kind, KINDS)
    kind = kind or kind_of(source)
    names = columns or ColumnNames()
    if changes.actions_from:
        names = names._replace(actions=changes.actions_from)
    plan = {"source": str(source.absolute()), "kind": kind, "fields": names, "held_out": held_out, "rescale": rescale}
    pair = pair_at(to, {**plan, "changes": asdict(changes)}, overwrite)
    refuse_links(*pair.paths)
    new_files(pair.paths, overwrite=True)  # checks the names and the folder; the next line, what is there
    pair.check()  # before the source is read, which may take long
    reader = KINDS[kind]
    place = getattr(reader, "locate", existing)(source)
    names = _completed(names, reader.defaults(place), listener)
    sample, found = _sampled(checked(reader.episodes(place, names, listener), names), source)
    prepared = prepare(changes, source_signals(reader, place, names, sample[0]), sample, names.time)
    done = write_pair(map(prepared.change, found), source, pair, held_out, rescale, prepared.signals, changes)
    return done._replace(notes=prepared.notes)


def _completed(names: ColumnNames, defaults: ColumnNames, listener: Listener) -> ColumnNames:
    """The names that were given, and those of the format for the rest, which are noted."""
    given: dict[str, Any] = {field: value for field, value in names._asdict().items() if value}
    found = defaults._replace(**given)
    if not names.observations or not names.actions:
        listener.note(f"observations: {', '.join(found.observations)}; actions: {', '.join(found.actions)}")
    return found


def _sampled(found: Iterable[Checked], source: Path) -> tuple[list[Checked], Iterator[Checked]]:
    """The first episodes, as many as changes are fitted to, and all of them."""
    episodes, sample, size = iter(found), list[Checked](), 0
    for episode in episodes:
        sample.append(episode)
        size += sum(array.nbytes for array in (episode.observations, episode.actions))
        if size > SAMPLE:
            break
    if not sample:
        raise DataError(f"{source}: has no episodes; check what is in it.")
    return sample, chain(sample, episodes)


def source_signals(reader: ModuleType, source: Path, names: ColumnNames, first: Checked) -> Signals:
    """The signals that a source describes; dimensions that it does not name are numbered."""
    signals: Signals = reader.source_signals(source, names)
    groups = by_kind(signals)
    for kind in groups:
        array = getattr(first, kind)
        width = 0 if array is None else array.shape[1]
        if len(groups[kind]) != width:
            groups[kind] = [Dimension(kind, f"{kind}_{i}") for i in range(width)]
    return from_kinds(groups, signals.hz)


def pair_at(to: Path, plan: dict[str, Any], overwrite: bool = False, way_out: str = Pair.way_out) -> Pair:
    """The training file `to` and its validation file."""
    return Pair((to, to.with_name(f"{to.stem}-val.npz")), to.with_name(f".{to.stem}.importing"), plan, overwrite, way_out)


def write_pair(
    found: Iterable[Checked],
    source: Path,
    pair: Pair,
    held_out: float = 0.1,
    rescale: bool = False,
    signals: Signals | None = None,
    changes: Changes = UNCHANGED,
) -> Imported:
    """Write episodes to a training and a validation file, one episode at a time.

    The source may say which episodes are for validation; otherwise the last share of them is. Without `signals`, numbers are
    stored as they are.
    """
    survey = Survey()
    pair.begin()
    try:
        with Columns(pair.folder) as columns:
            marks = [_append(columns, survey, episode) for episode in found]
            side = for_validation(marks, held_out, source)
            encoded, described = _encoding(survey, source, rescale, signals, changes)
            save = partial(_save, columns, encoded, described, str(source))
            pair.publish(partial(save, ~side, training=True), partial(save, side, training=False))
    except BaseException:
        pair.abandon()
        raise
    return Imported(*pair.paths, len(marks), rescale)


def _append(columns: Columns, survey: Survey, episode: Checked) -> bool | None:
    """Add an episode; returns whether the source says that it is held out."""
    goals = {} if episode.goals is None else {"goals": episode.goals}
    columns.append({"observations": episode.observations, "actions": episode.actions, **goals})
    survey.add(episode)
    return episode.held_out


def _encoding(
    survey: Survey, source: Path, rescale: bool, signals: Signals | None, changes: Changes
) -> tuple[Encoding, Signals | None]:
    """How the numbers are stored, and the signals with the levels of discrete actions."""
    if signals is None:
        return Encoding([()] * len(survey.values)), None
    groups = by_kind(signals)
    actions = groups["actions"]
    check_names("--discrete", changes.discrete, actions)
    check_names("--continuous", changes.continuous, actions)
    levels = survey.discrete(actions, set(chosen(changes.discrete, actions)), set(chosen(changes.continuous, actions)))
    groups["actions"] = [one._replace(levels=values) for one, values in zip(actions, levels, strict=True)]
    return encoding(survey, actions, source, rescale, levels), from_kinds(groups, signals.hz)


def for_validation(marks: list[bool | None], held_out: float, source: Path) -> np.ndarray:
    """Which episodes are for validation, (episodes,): those that the source marks, or the last share if it marks none."""
    if not marks:
        raise DataError(f"{source}: has no episodes; check what is in it.")
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


def _save(
    columns: Columns, encoded: Encoding, signals: Signals | None, source: str, part: np.ndarray, path: Path, training: bool
) -> None:
    """Write some of the episodes, and read the file as training does, which raises if it could not train on it."""
    changes = {"observations": encoded.observations, "actions": encoded.actions, "goals": encoded.goals}
    described = {} if signals is None else {"signals": np.array(json.dumps(signals.to_json()))}
    columns.save(path, part, changes, **encoded.notes(), **described)
    written = load_in_place(path, source)
    if training:
        _ = written.statistics
