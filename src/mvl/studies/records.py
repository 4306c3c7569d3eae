"""Finished runs without their weights: what tables are made of, in a few kilobytes a run, to be kept beside them.

A record is a run folder with its description and its evaluations alone, so the store takes one in as it is.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from mvl.errors import MvlError
from mvl.experiment import Experiment
from mvl.files import atomic
from mvl.runs.folder import RunFolder
from mvl.studies.display import warn
from mvl.studies.job import folder_of
from mvl.studies.store import held, runs_in

COPIED = ("evaluations.jsonl", "surface.json")


def take_in(records: Path, store: Path, experiments: Iterable[Experiment], say: Callable[[str], None] = warn) -> int:
    """Records of runs that the store has not, into the store; how many there were. Damaged records are named and left out."""
    taken = 0
    for experiment in experiments:
        damaged = held(experiment, records, None).damaged
        for record in runs_in(folder_of(experiment, records)):
            run = folder_of(experiment, store) / record.name
            if record in damaged:
                say(f"damaged record not taken in: {damaged[record]}")
            elif not os.path.lexists(run):
                _copy_clock(record, run)
                with tempfile.TemporaryDirectory(dir=store) as work:  # whole or not at all, wherever this is stopped
                    os.replace(shutil.copytree(record, Path(work) / run.name), run)
                taken += 1
    return taken


def check_equal(records: Path, store: Path, experiments: Iterable[Experiment]) -> None:
    """Refuse records that `keep` would replace by something else: the store has another run of the same name."""
    for experiment in experiments:
        for file in sorted(folder_of(experiment, records).glob("*/run.json")):
            run, record = folder_of(experiment, store) / file.parent.name, file.parent
            if run.exists() and not _equal(run, record):
                raise MvlError(
                    f"{record} is not a record of {run}; replace it with --overwrite, or choose another --records or --store."
                )


def _equal(run: Path, record: Path) -> bool:
    """Whether keeping the run would change nothing that is in the record."""
    if not RunFolder(run).description_file.exists():
        return False
    return all(path.read_bytes() == text for path, text in _record(run, record).items() if path.exists())


def keep(runs: Iterable[Path], store: Path, records: Path) -> int:
    """Write records of these runs of a store; returns their number."""
    runs = sorted(set(runs))
    for run in runs:
        _keep(run, records / run.relative_to(store))
    return len(runs)


def _keep(run: Path, record: Path) -> None:
    for path, text in _record(run, record).items():
        with atomic(path) as partial:
            partial.write_bytes(text)


def _record(run: Path, record: Path) -> dict[Path, bytes]:
    """The files of a run's record, and what is in them."""
    described = json.loads(RunFolder(run).description_file.read_text())
    described["data"]["path"] = Path(described["data"]["path"]).name  # where it lay concerns nobody else
    sources = {record / name: run / name for name in COPIED} | {_clock(record): _clock(run)}
    copies = {path: source.read_bytes() for path, source in sources.items() if source.exists()}
    return {record / "run.json": (json.dumps(described, indent=1) + "\n").encode(), **copies}


def _clock(run: Path) -> Path:
    return run.with_name(f"{run.name}.clock.jsonl")


def _copy_clock(run: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if _clock(run).exists():
        with atomic(_clock(to)) as partial:
            shutil.copyfile(_clock(run), partial)
