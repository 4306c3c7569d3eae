"""Finished runs without their weights: what tables are made of, in a few kilobytes a run, to be kept beside them.

A record is a run folder with its description and its evaluations alone, so the store takes one in as it is.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from mvl.data.files import atomic
from mvl.runs.folder import RunFolder
from mvl.sweep.job import Variant
from mvl.sweep.results import Result

COPIED = ("evaluations.jsonl", "surface.json")


def take_in(records: Path, store: Path, variants: Iterable[Variant]) -> int:
    """Records of runs that the store has not, into the store; how many there were."""
    taken = 0
    for variant in variants:
        for file in sorted(variant.folder(records).glob("*/run.json")):
            run = variant.folder(store) / file.parent.name
            if not run.exists():
                _copy_clock(file.parent, run)
                with tempfile.TemporaryDirectory(dir=store) as work:  # whole or not at all, wherever this is stopped
                    os.replace(shutil.copytree(file.parent, Path(work) / run.name), run)
                taken += 1
    return taken


def keep(found: Sequence[Result], store: Path, records: Path) -> int:
    """Records of all runs behind a table, written anew where they changed; how many there are."""
    runs = sorted({seed.run for result in found for seed in result.seeds})
    for run in runs:
        _keep(run, records / run.relative_to(store))
    return len(runs)


def _keep(run: Path, record: Path) -> None:
    record.mkdir(parents=True, exist_ok=True)
    described = json.loads(RunFolder(run).description_file.read_text())
    described["data"]["path"] = Path(described["data"]["path"]).name  # where it lay concerns nobody else
    with atomic(record / "run.json") as partial:
        partial.write_text(json.dumps(described, indent=1) + "\n")
    for name in COPIED:
        if (run / name).exists():
            with atomic(record / name) as partial:
                partial.write_bytes((run / name).read_bytes())
    _copy_clock(run, record)


def _copy_clock(run: Path, to: Path) -> None:
    clock = run.with_name(f"{run.name}.clock.jsonl")
    to.parent.mkdir(parents=True, exist_ok=True)
    if clock.exists():
        with atomic(to.with_name(f"{to.name}.clock.jsonl")) as partial:
            shutil.copyfile(clock, partial)
