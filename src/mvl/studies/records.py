"""Finished runs without their weights, as lines of a JSON file: all that tables are made of, small enough to commit or send.

A line is the run's description (run.json), its evaluations, its process time and, if measured, its largest memory, its value
surface, plans, success in variants of its task and held-out measures.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mvl.errors import MvlError, UsageError
from mvl.experiment import Experiment
from mvl.files import atomic, fingerprint, locked, scratch_folder
from mvl.runs import metrics
from mvl.runs.evaluation import reported
from mvl.runs.folder import FORMAT, Description, RunFolder, is_newer
from mvl.settings import with_explicit_goals
from mvl.studies.job import WITHOUT_EFFECT, folder_of, is_run_of, seed_range
from mvl.studies.store import clock_file, largest_memory, process_seconds

Key = tuple[str, tuple[int, ...]]
"""Task, recipe and schedule as a text, and the seeds: runs with the same key are runs of one experiment; see `is_run_of`."""
ADDED = ("evaluations", "seconds", "memory", "surface", "plans", "variants", "held_out")
"""Keys of a line that run.json does not have."""
MEASURED = ("surface", "plans", "variants", "held_out")
"""Keys of a line that are a JSON file of the run folder."""
EVALUATED = ("step", "seed", "overall", "tasks", "mean_length", "validation/value/loss", "validation/policy/loss")
"""What is recorded of an evaluation: success, and the losses that `mvl tune --by validation` ranks by."""


@dataclass(frozen=True)
class Record:
    """One line of a records file."""

    line: Mapping[str, Any]
    description: Description | None
    """None if the run uses parts or a task that this installation does not have; such lines are kept but not used."""
    key: Key
    """Identifies the run in its file, and sorts it."""

    @classmethod
    def of_run(cls, run: Path) -> "Record":
        """The record of a finished run folder. Of the path of its data only the name is kept, and ranges are left out."""
        folder, description = RunFolder.open(run)
        described = json.loads(folder.description_file.read_text())
        described = _with_data(described)
        described["data"]["path"] = Path(described["data"]["path"]).name
        described["data"].pop("observations", None)  # only a policy, which a record does not have, needs them
        rows = [{name: row[name] for name in EVALUATED if name in row} for row in metrics.read(folder.evaluations_file)]
        measured = {name: run / f"{name}.json" for name in MEASURED}
        extra = {name: json.loads(file.read_text()) for name, file in measured.items() if file.exists()}
        if memory := largest_memory(run):
            extra["memory"] = memory
        line = {**described, "evaluations": rows, "seconds": process_seconds(run), **extra}
        return cls(line, description, _key(description.experiment))

    @classmethod
    def from_line(cls, text: bytes) -> "Record":
        """Raises ValueError, KeyError, TypeError or the like for anything that is not a finished run."""
        line = json.loads(text)
        if is_newer(line["format"]):
            raise ValueError(f"a newer mvl wrote format {line['format']}, this one reads {FORMAT}")
        try:
            description = Description.from_json(line)
            key = _key(description.experiment)
        except UsageError:
            named = [line[name] for name in ("preset", "task", "recipe_name", "recipe", "schedule")]
            return cls(line, None, (json.dumps(named), tuple(line["seeds"])))
        _check_finished(line, description.experiment)
        return cls(line, description, key)

    def is_of(self, experiment: Experiment) -> bool:
        """Whether this is a run of the experiment. A data file must have the same name and, if it is there, the same content."""
        if self.description is None or self.description.task.label != experiment.task.label:
            return False
        if not experiment.task.is_own:
            return is_run_of(experiment, self.description)
        data = Path(str(experiment.task.data))
        here = Description.from_json(_with_data(self.line, str(data)))
        same = not data.exists() or _checksum(data, data.stat().st_mtime_ns) == self.description.data["sha256"]
        return same and is_run_of(experiment, here)

    def unpack(self, run: Path, experiment: Experiment) -> None:
        """Write the record as a run folder of the experiment, without a checkpoint, and the clock beside it."""
        line = _with_data(self.line, str(experiment.task.data))
        described = {name: value for name, value in line.items() if name not in ADDED}
        texts = {
            "run.json": json.dumps(described, indent=2) + "\n",
            "evaluations.jsonl": "".join(json.dumps(row) + "\n" for row in self.line["evaluations"]),
            **{f"{name}.json": json.dumps(self.line[name]) + "\n" for name in MEASURED if name in self.line},
        }
        if "memory" in self.line:
            texts["timing.jsonl"] = json.dumps({"memory": self.line["memory"]}) + "\n"
        session = [{"event": "began", "time": 0.0}, {"event": "ended", "time": self.line["seconds"]}]
        run.parent.mkdir(parents=True, exist_ok=True)
        with atomic(clock_file(run)) as partial:
            partial.write_text("".join(json.dumps(event) + "\n" for event in session))
        with scratch_folder(run.parent, ".unpacked-") as work:  # the run appears whole or not at all
            folder = Path(work) / run.name
            folder.mkdir()
            for name, text in texts.items():
                (folder / name).write_text(text)
            os.replace(folder, run)


def _with_data(described: Mapping[str, Any], file: str = "") -> dict[str, Any]:
    """The content of a run.json; if it is about a data file of one's own, that is this file, or its own name without a folder."""
    own = described.get("own_task")
    if not own or own["data"] is None:
        return dict(described)
    data = file or Path(own["data"]).name
    return {**described, "task": own["name"] or data, "own_task": {**own, "data": data}}


_checksum = lru_cache(maxsize=8)(lambda path, changed: fingerprint(path))
"""The checksum of a file, which is read once as long as it is not changed."""


def _key(experiment: Experiment) -> Key:
    schedule = {name: value for name, value in asdict(experiment.schedule).items() if name not in WITHOUT_EFFECT}
    return f"{experiment.task.label} {with_explicit_goals(experiment.recipe)} {schedule}", experiment.seeds


def _check_finished(line: Mapping[str, Any], experiment: Experiment) -> None:
    rows, seeds, schedule = line["evaluations"], experiment.seeds, experiment.schedule
    if not all(type(row["step"]) is int and row["seed"] in seeds for row in rows):
        raise ValueError("an evaluation has no step, or a seed that is not the run's")
    if lost := metrics.missing(rows, metrics.due(schedule.steps, schedule.eval_every, schedule.steps), seeds):
        raise ValueError(f"the evaluation at step {lost[0]} is missing")
    if experiment.task.simulated:
        reported(rows)  # fails if success is missing or not numbers
    if not math.isfinite(line["seconds"]):
        raise ValueError("seconds is not a number")


def read(file: Path) -> list[Record]:
    """The records of a file in its order, none if it does not exist. A line that is not a record is an error."""
    if file.is_dir():
        raise UsageError(f"{file} is a folder; name a file for the records, such as {file / 'runs.jsonl'}.")
    found: dict[Key, Record] = {}
    for number, text in enumerate(file.read_bytes().splitlines() if file.exists() else [], 1):
        try:
            record = Record.from_line(text)
            if record.key in found:
                raise ValueError("an earlier line is about the same run")
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            reason = str(error) if isinstance(error, ValueError) else repr(error)
            raise MvlError(f"{file}, line {number}: not a record of a finished run ({reason}); remove or repair it.") from None
        found[record.key] = record
    return list(found.values())


def of_experiment(records: Iterable[Record], experiment: Experiment, store: Path) -> dict[Path, Record]:
    """The records of an experiment, by the run folder that each would have in a store."""
    folder = folder_of(experiment, store)
    found = [record for record in records if record.is_of(experiment)]
    return {folder / f"seeds-{seed_range(record.key[1])}": record for record in found}


def take_in(records: Sequence[Record], store: Path, experiments: Iterable[Experiment]) -> int:
    """Unpack the records of these experiments whose runs the store does not have; returns their number."""
    new = 0
    for experiment in experiments:
        for run, record in of_experiment(records, experiment, store).items():
            if not os.path.lexists(run):
                record.unpack(run, experiment)
                new += 1
    return new


def check_equal(records: Sequence[Record], store: Path, experiments: Iterable[Experiment]) -> None:
    """Refuse records that `keep` would replace by something else: the store has another run of the same seeds."""
    for experiment in experiments:
        for run, record in of_experiment(records, experiment, store).items():
            if run.exists() and not _is_recorded(run, record):
                raise MvlError(
                    f"{run} differs from its record; replace the record with --overwrite, or choose another --records or --store."
                )


def _is_recorded(run: Path, record: Record) -> bool:
    """Whether keeping the run would change nothing that its record has."""
    if not RunFolder(run).description_file.exists():
        return False
    current = Record.of_run(run).line
    return all(json.dumps(current.get(name)) == json.dumps(value) for name, value in record.line.items())


def keep(runs: Sequence[Path], file: Path) -> int:
    """Write records of finished runs into a file, in place of older ones of the same runs; returns their number."""
    if not runs:
        return 0
    with locked(file.with_name(f".{file.name}.lock"), f"waiting for another process that writes {file}"):
        by_key = {record.key: record for record in [*read(file), *map(Record.of_run, runs)]}
        lines = [json.dumps(by_key[key].line) + "\n" for key in sorted(by_key)]
        with atomic(file) as partial:
            partial.write_text("".join(lines))
    return len(runs)
