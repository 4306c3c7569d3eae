"""Damaged runs of a store: named, and renamed so that their seeds are trained again. Nothing is deleted."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from mvl.errors import MvlError
from mvl.experiment import Experiment
from mvl.runs.folder import RunFolder
from mvl.studies.store import held

BESIDE = (".log", ".clock.jsonl")
"""Endings of the files that lie beside a run and belong to it."""


def set_aside(experiments: Iterable[Experiment], store: Path, say: Callable[[str], None], dry_run: bool = False) -> None:
    """Name every damaged run of the experiments and rename it to NAME.damaged; a dry run only names them."""
    for experiment in experiments:
        for run, reason in held(experiment, store, None).damaged.items():
            done = "would be set aside and trained again" if dry_run else _set_aside(run, experiment, store)
            say(f"damaged run {done}: {reason}")


def _set_aside(run: Path, experiment: Experiment, store: Path) -> str:
    """What became of it. A run that is in use by another process is left alone."""
    try:
        with RunFolder(run).locked():
            if run not in held(experiment, store, None).damaged:  # another sweep was faster
                return "mended meanwhile"
            to = _free(run)
            os.rename(run, to)
            for ending in BESIDE:
                if os.path.lexists(beside := run.with_name(run.name + ending)):
                    os.rename(beside, to.with_name(to.name + ending))
    except (MvlError, OSError) as error:
        return f"left where it is ({str(error).rstrip('.')})"
    return f"set aside as {to.name}, to be trained again"


def _free(run: Path) -> Path:
    to, number = run.with_name(f"{run.name}.damaged"), 2
    while os.path.lexists(to):
        to, number = run.with_name(f"{run.name}.damaged-{number}"), number + 1
    return to
