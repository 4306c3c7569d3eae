"""More demonstrations: a run that starts from a trained one, with its data and new data."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from mvl.checks import COUNT
from mvl.data.dataset import Dataset
from mvl.data.joining import joined, share_cut
from mvl.data.memory_map import fits
from mvl.data.sources import npz
from mvl.errors import DamagedError, DataError, MvlError, UsageError
from mvl.experiment import Experiment
from mvl.files import fingerprint
from mvl.learn import checkpoint
from mvl.learn.devices import arithmetic
from mvl.learn.learner import State
from mvl.learn.loop import initial_state
from mvl.machine import free_memory
from mvl.runs import tracking
from mvl.runs.data import contents_of, data_of, shapes_of, statistics_of
from mvl.runs.distributed import Team
from mvl.runs.folder import Description, RunFolder
from mvl.runs.restore import learner_of
from mvl.runs.training import check_fits, check_same, sharding_of, train_in
from mvl.settings import Configured, as_text

Pair = tuple[Dataset, Dataset]
"""Training and validation data."""


def train_more(
    start_from: Path | str,
    data: Path | str,
    *,
    run: Path | str | None = None,
    held_out: float | None = None,
    workers: int | None = None,
    devices: int | None = None,
    track: str | Sequence[str] = (),
    **settings: Any,
) -> Path:
    """Train on from a trained run with its data and more of it, in a new run.

    Parameters, normalization, recipe, seeds and environment are those of the old run, whose folder stays as it is.

    Args:
        start_from: Folder of the trained run.
        data: An .npz file with the same dimensions, names and rate as the run's own.
        run: New folder of the run.
        held_out: Share of the new episodes for validation; by default those of the -val.npz file.
        workers: Processes for evaluations; by default one per core.
        devices: Number of devices over which every batch is split.
        track: Names of trackers that also show the run.
        **settings: Settings by name (`steps=10_000`); those of the networks cannot be changed.

    Returns:
        The folder of the new run.

    Examples:
        >>> run = mvl.train_more("runs/arm", "more.npz", held_out=0.1, steps=20_000)
    """
    experiment = RunFolder.open(Path(start_from))[1].experiment.with_settings(settings)
    return train_on(Path(start_from), Path(data), experiment, run, held_out, workers, devices, track)


def train_on(
    start_from: Path,
    file: Path,
    experiment: Experiment,
    run: Path | str | None = None,
    held_out: float | None = None,
    workers: int | None = None,
    devices: int | None = None,
    track: str | Sequence[str] = (),
) -> Path:
    """Like `train_more`, for the run's experiment with changed settings."""
    COUNT.check(workers=workers, devices=devices)
    sharding = sharding_of(devices, len(experiment.seeds), experiment.recipe.learning.batch_size)
    target, team = Path(run) if run else start_from.with_name(f"{start_from.name}-more"), Team()
    trackers = tracking.chosen(track, target)
    if team.first:
        RunFolder.check_new(target)
    before, parent = RunFolder.open(start_from)
    if not before.checkpoint_file.exists():
        raise UsageError(f"{start_from} has no checkpoint yet; train it first with: mvl train --resume {start_from}")
    old, new = _load(parent, start_from, file, held_out)
    train, validation = joined(old[0], new[0]), joined(old[1], new[1])
    check_fits(experiment.recipe, train, validation)
    added = {"path": str(file.resolve()), "sha256": fingerprint(file), "held_out": held_out}
    origin = {"run": str(start_from.resolve()), "step": checkpoint.step_of(before.checkpoint_file)}
    description = _described(parent, origin, experiment, train, added)
    state = _state(before, description)
    check_same(description, team)
    folder = RunFolder.create(target, description) if team.first else RunFolder(target)
    with folder.locked() if team.first else nullcontext():
        if team.first:
            for line in _told(parent, description, old, new):
                print(line, file=sys.stderr)
            notes = {"sizes": {name.name: 0 for name in (folder.metrics_file, folder.evaluations_file)}}
            with folder.writing(folder.checkpoint_file):  # so that a stopped run continues from here, without its parent
                checkpoint.save(folder.checkpoint_file, state, {**notes, "arithmetic": arithmetic(sharding)})
        return train_in(folder, description, train, validation, state, workers, sharding, trackers)


def _load(parent: Description, run: Path, file: Path, held_out: float | None) -> tuple[Pair, Pair]:
    """The data of the run and of the new file; both must fit in memory together."""
    paths = [Path(one["path"]) for one in (parent.data, *parent.data.get("added", ())) if one["path"]] + [file]
    if not fits(sum(npz.bytes_of(path) for path in paths), free_memory()):
        raise DataError(f"{file} and the data of {run} do not fit in memory together; join the files and train anew.")
    return data_of(parent, None, run), npz.load_pair(file, held_out, parent.experiment.task.goal_columns_of_file)


def _described(
    parent: Description, origin: dict[str, Any], experiment: Experiment, train: Dataset, added: dict[str, Any]
) -> Description:
    """The description of the new run: normalization and units of its parent, settings from all of the data.

    `origin` has the folder and the step of the parent, `added` describes the new file.
    """
    learning = experiment.recipe.learning
    if learning.normalize != parent.experiment.recipe.learning.normalize:
        raise UsageError(f"the networks of {origin['run']} know one normalization, which is kept; leave out --normalize.")
    before, now = parent.experiment.configured.settings(), experiment.configured.settings()
    changes = {name: as_text(value) for name, value in now.items() if before.get(name) != value}
    return Description(
        experiment=replace(experiment, data=replace(experiment.data, out_of_core=False)),
        fitted=experiment.recipe.fit(statistics_of(train, parent.normalization, learning.history)),
        shapes=shapes_of(train, learning),
        data={**parent.data, **contents_of(train), "added": [*parent.data.get("added", ()), added]},
        normalization=parent.normalization,
        parent={**origin, "changes": changes},
    )


def _state(folder: RunFolder, description: Description) -> State:
    """The last state of the parent, with the count of steps set to zero."""
    like = jax.eval_shape(lambda: initial_state(learner_of(description), description.experiment.seeds))
    state: State
    try:
        state, _ = checkpoint.load(folder.checkpoint_file, like)
    except DamagedError:
        raise
    except MvlError as error:
        raise UsageError(f"these settings change the networks of {folder.path}, which cannot go on so: {error}") from None
    return state._replace(step=jnp.zeros_like(state.step))


def _told(parent: Description, description: Description, old: Pair, new: Pair) -> list[str]:
    """What the new run has of its parent, and what is different."""
    assert description.parent is not None
    kept = "its normalization" if parent.normalization else "no normalization, as before"
    lines = [f"starts from {description.parent['run']}, step {description.parent['step']}, with {kept}"]
    numbers = [[(len(data.ends), len(data.transitions)) for data in pair] for pair in (old, new)]
    (trained, held), (more, more_held) = numbers
    lines.append(
        f"episodes: {trained[0]} + {more[0]} ({trained[1]} + {more[1]} transitions), and {held[0]} + {more_held[0]} held out"
    )
    schedules = [(one.fitted, one.experiment.schedule) for one in (parent, description)]
    before, now = (Configured(*one).settings() for one in schedules)
    changed = [
        f"{name} {as_text(before.get(name))} -> {as_text(value)}" for name, value in now.items() if before.get(name) != value
    ]
    lines.append(f"settings: {', '.join(changed) if changed else 'as before'}; {description.experiment.schedule.steps} steps")
    if cut := share_cut(old[0], new[0]):
        lines.append(f"{cut:.2%} of the new actions lie outside of the range of the old ones, and are cut to it")
    return lines
