"""Damaged runs of a store: report and rename them, so that their seeds are trained again. Nothing is deleted."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from mvl.errors import MvlError
from mvl.experiment import Experiment
from mvl.runs.folder import RunFolder
from mvl.studies.store import held

COMPANION_SUFFIXES = (".log", ".clock.jsonl")
"""Suffixes of the files next to a run folder that belong to the run."""


def set_aside(experiments: Iterable[Experiment], store: Path, warn: Callable[[str], None], dry_run: bool = False) -> None:
    """Report every damaged run of the experiments and rename it to NAME.damaged; a dry run only reports."""
    for experiment in experiments:
        for run, reason in held(experiment, store, None).damaged.items():
            outcome = "would be set aside and trained again" if dry_run else _set_aside(run, experiment, store)
            warn(f"damaged run {outcome}: {reason}")


def _set_aside(run: Path, experiment: Experiment, store: Path) -> str:
    """Rename the run, unless another process uses it, and return the outcome in words."""
    try:
        with RunFolder(run).locked():
            if run not in held(experiment, store, None).damaged:  # another sweep has replaced it
                return "was repaired in the meantime"
            to = _unused_name(run)
            os.rename(run, to)
            for suffix in COMPANION_SUFFIXES:
                if os.path.lexists(companion := run.with_name(run.name + suffix)):
                    os.rename(companion, to.with_name(to.name + suffix))
    except (MvlError, OSError) as error:
        return f"not renamed ({str(error).rstrip('.')})"
    return f"set aside as {to.name}, to be trained again"


def _unused_name(run: Path) -> Path:
    to, number = run.with_name(f"{run.name}.damaged"), 2
    while os.path.lexists(to):
        to, number = run.with_name(f"{run.name}.damaged-{number}"), number + 1
    return to
